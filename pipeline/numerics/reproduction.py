"""A failing launch as a script of its own, for this machine or a Mac."""

from __future__ import annotations

import torch

from pipeline.exec_kernel.execute import Dispatched
from pipeline.numerics.failure import Run

_LONGEST = 64
_MOST_LAUNCHES = 4


def script(run: Run, kernel_path: str, reference: str) -> str:
    """Python that compiles the kernel and repeats what `run` dispatched.

    `reference` is an expression for the right answer over the operands' names. The script runs anywhere the pipeline is
    installed; its second line says what to change on a Mac.
    """
    known = dict(run.inputs)
    lines = [
        "import torch",
        "from pipeline.metal import compile_shader  # on a Mac: from torch.mps import compile_shader",
        "",
        f"library = compile_shader(open({kernel_path!r}).read())",
    ]
    lines += [f"{name} = {_tensor(each)}" for name, each in run.inputs.items()]
    for index, output in enumerate(run.outputs):
        name = "output" if index == 0 else f"output{index}"
        lines.append(f"{name} = {next(iter(known))}.clone()" if run.layout.in_place else f"{name} = {_empty(output)}")
        known = {name: output, **known}
    lines += [_call(each, known) for each in run.dispatched[-_MOST_LAUNCHES:]]
    lines.append(f"print(output, {reference})")
    return "\n".join(lines) + "\n"


def _call(launch: Dispatched, known: dict[str, torch.Tensor]) -> str:
    words = []
    for argument in launch.arguments:
        if isinstance(argument, bytes):
            words.append(f"torch.tensor({list(argument)}, dtype=torch.uint8)")
        else:
            same = (name for name, tensor in known.items() if _starts_alike(tensor, argument))
            words.append(next(same, None) or _tensor(argument))
    grid = f"threads={list(launch.threads)}, group_size={list(launch.group)}"
    return f"library.{launch.host_name}({', '.join(words)}, {grid})"


def _starts_alike(tensor: torch.Tensor, argument: torch.Tensor) -> bool:
    return tensor.dtype == argument.dtype and tensor.data_ptr() == argument.data_ptr()


def _tensor(tensor: torch.Tensor) -> str:
    """An expression for a tensor of these values, strides and dtype."""
    if tensor.numel() > _LONGEST:
        return f"...  # {list(tensor.shape)} of {tensor.dtype}, strides {list(tensor.stride())}"
    dtype = tensor.dtype
    shown = tensor.to(torch.complex64) if dtype is torch.complex32 else tensor
    values = f"torch.tensor({shown.reshape(-1).tolist()}, dtype={shown.dtype})".replace("inf", "torch.inf")
    values = values.replace("nan", "torch.nan")
    if dtype is torch.complex32:
        values += ".to(torch.complex32)"
    if tensor.is_contiguous():
        return values if tensor.dim() == 1 else f"{values}.reshape({list(tensor.shape)})"
    copied = f"{_empty(tensor)}.copy_({values}.reshape({list(tensor.shape)}))"
    return (
        copied
        if 0 not in tensor.stride()
        else f"{values}.reshape({list(tensor.shape)})[:1].expand({list(tensor.shape)})"
    )


def _empty(tensor: torch.Tensor) -> str:
    if tensor.is_contiguous():
        return f"torch.empty({list(tensor.shape)}, dtype={tensor.dtype})"
    return f"torch.empty_strided({list(tensor.shape)}, {list(tensor.stride())}, dtype={tensor.dtype})"
