"""Runs an operator's Metal kernels on the CPU, or on a Mac, and compares them with the truth."""
