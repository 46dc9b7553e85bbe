"""A failing launch as a script of its own, for this machine or a Mac."""

from __future__ import annotations

import torch

from pipeline.exec_kernel.launch import Launch, OperandArgument
from pipeline.numerics.session import Run

_LONGEST = 64


def script(run: Run, kernel_path: str, reference: str) -> str:
    """Python that compiles the kernel and repeats the last launch of `run`.

    `reference` is an expression for the right answer over the names `input0`, `input1`, ... The script runs anywhere
    the pipeline is installed; its first line says what to change on a Mac.
    """
    launch = run.launches[-1]
    lines = [
        "import torch",
        "from pipeline.metal import compile_shader  # on a Mac: from torch.mps import compile_shader",
        "",
        f"library = compile_shader(open({kernel_path!r}).read())",
    ]
    lines += [f"input{index} = {_tensor(each)}" for index, each in enumerate(run.inputs)]
    lines.append(f"output = {_empty(run.output)}")
    lines.append(_call(launch))
    lines.append(f"print(output, {reference})")
    return "\n".join(lines) + "\n"


def _call(launch: Launch) -> str:
    names = []
    for argument in launch.arguments:
        if isinstance(argument, OperandArgument):
            name = "output" if argument.index == 0 else f"input{argument.index - 1}"
            if argument.cast_to is not None:
                name += f".to(torch.{argument.cast_to.torch_name})"
            names.append(name)
        else:
            names.append(f"torch.tensor({list(argument)}, dtype=torch.uint8)")
    grid = f"threads={list(launch.threads)}, group_size={list(launch.group)}"
    return f"library.{launch.host_name}({', '.join(names)}, {grid})"


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
