"""Runs the Objective-C++ of a host stub: the part of C++, ATen and Metal's API that stubs of kernels are written in.

The stub's own text decides which kernels run, in which order and with which arguments; what it says outside of that
part is refused by file and line, never guessed. exec helpers are modelled in `pipeline.exec_kernel`.
"""
