"""What upstream's linters and reviewers send back: layout, and habits in kernels and host stubs."""

from pipeline.checks.style.check import check_style, check_style_of_fragments

__all__ = ["check_style", "check_style_of_fragments"]
