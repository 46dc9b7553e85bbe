"""What `MetalShaderLibrary::exec_*_kernel` does on the host: which kernel it asks for and what it binds.

Modelled on PyTorch 2.13 (`MODELLED_VERSION`); the flavour that 2.14 added (inner_contiguous) is chosen only where the
headers register it. The rules were read from `ATen/native/mps/MetalShaderLibrary.h`, `OperationUtils.h` and
`c10/metal/indexing.h`, and the computed names are held against the function names in the 2.13 macOS wheel.

- `dtypes`, `names`, `iteration` and `launch` are pure: no torch, no kernel is run.
- `execute` binds tensors and runs what `launch` planned.
"""

MODELLED_VERSION = "2.13"
