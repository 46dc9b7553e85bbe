"""Moves PyTorch's MPS operators from MPSGraph to handwritten Metal kernels."""
