"""The type check of Objective-C++ host files for arm64 macOS, on any system."""

from pipeline.checks.host.check import check_host

__all__ = ["check_host"]
