"""The C++ functions through which the host reaches a kernel."""

from __future__ import annotations

from pipeline.metal.signature import Head, Kernel, Parameter, without_attributes


def entry_point(kernel: Kernel, head: Head, masked: str) -> str:
    """Two functions per kernel: one runs it, the other tells the extents of what its parameters point to."""
    start, end = head.parameters_at
    declared = " ".join(without_attributes(masked[start:end]).split())
    type_ = f"decltype(&{head.name})" if head.decltype else f"void (*)({declared})"
    function = f"(static_cast<{type_}>(&{head.name}))"
    buffers = sorted({parameter.index for parameter in kernel.parameters if parameter.kind == "buffer"})
    locals_ = "".join(f" void* b{index} = b[{index}];" for index in buffers)
    arguments = ", ".join(_argument(parameter) for parameter in kernel.parameters)
    return (
        f'METAL_CPU_PART_{kernel.part}(extern "C" METAL_CPU_ENTRY void {kernel.symbol}(void** b) {{ (void)b;{locals_} '
        f"do {{ while (::metal_cpu::next_thread()) {function}({arguments}); }} while (::metal_cpu::next_row()); }} "
        f'extern "C" METAL_CPU_ENTRY const ::metal_cpu::Extent* {kernel.symbol}_extents() '
        f"{{ return ::metal_cpu::Extents<{type_}>::values; }})"
    )


def _argument(parameter: Parameter) -> str:
    if parameter.kind == "buffer":
        kind = "Reference" if parameter.is_reference else "Pointer"
        return f"::metal_cpu::{kind}{{b{parameter.index}}}"
    if parameter.kind == "threadgroup":
        return f"::metal_cpu::Pointer{{::metal_cpu::mcpu_threadgroup_argument({parameter.index})}}"
    return f"::metal_cpu::attribute::{parameter.kind}()"
