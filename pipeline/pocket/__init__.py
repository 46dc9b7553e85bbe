"""The embedded default source: a small repository of PyTorch's MPS back end, made from the installed torch wheel."""

from pipeline.pocket.repository import build

__all__ = ["build"]
