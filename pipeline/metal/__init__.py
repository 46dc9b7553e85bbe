"""Metal on the CPU: a compiler driver and a runtime for Metal Shading Language, with the interface of torch.mps."""

from pipeline.metal.cache import Cache
from pipeline.metal.diagnostics import ShaderError
from pipeline.metal.library import Library, compile_file, compile_shader, compile_shader_each
from pipeline.metal.options import Compilation, Launch
from pipeline.metal.report import Event, KernelCrash, Note, Report
from pipeline.metal.toolchain import ToolchainError

__all__ = [
    "Cache",
    "Compilation",
    "Event",
    "KernelCrash",
    "Launch",
    "Library",
    "Note",
    "Report",
    "ShaderError",
    "ToolchainError",
    "compile_file",
    "compile_shader",
    "compile_shader_each",
]
