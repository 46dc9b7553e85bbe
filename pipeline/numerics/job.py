"""What is to be checked, as data that another process can be given."""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

_CODE = ("exec_kernel", "metal", "numerics", "stub_interpreter")
_HEADERS = ("c10/metal", "ATen/native/mps/kernels")


@dataclass(frozen=True)
class Job:
    """One operator to check.

    `kernel` and `stub` are texts; without a stub it is implied by the names the kernel registers. `include` are folders
    that hold `c10/metal` (the installed torch's when there are none). `device` is "cpu" or "mps". `dtypes` are names
    such as "float32"; all of them when empty. `kernel_path` and `stub_path` are what messages call the files. `only` is
    a regular expression: kernels whose host name it is not found in are not compiled; all are when it is empty.
    `isolated` runs them on copies that an access out of bounds cannot leave, which takes longer.
    """

    operator: str
    kernel: str
    stub: str | None = None
    include: tuple[str, ...] = ()
    device: str = "cpu"
    dtypes: tuple[str, ...] = ()
    kernel_path: str = ""
    only: str = ""
    stub_path: str = ""
    isolated: bool = False

    @property
    def path(self) -> str:
        return self.kernel_path or f"kernels/{self.operator}.metal"

    @property
    def host_path(self) -> str:
        return self.stub_path or f"stubs/{self.operator}.mm"

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        fields = json.loads(text)
        return cls(**{**fields, "include": tuple(fields["include"]), "dtypes": tuple(fields["dtypes"])})

    def key(self) -> str:
        """A digest of all that the result depends on: this job, the headers, our code, torch and the machine's kind."""
        digest = hashlib.sha256(self.to_json().encode())
        digest.update(f"{metadata.version('torch')} {platform.machine()} {platform.system()}".encode())
        for folder in self.include:
            for sub in _HEADERS:
                _add_files(digest, Path(folder) / sub, "*.h")
        for package in _CODE:
            _add_files(digest, Path(__file__).parent.parent / package, "*")
        return digest.hexdigest()


def _add_files(digest: hashlib._Hash, folder: Path, pattern: str) -> None:
    for path in sorted(folder.rglob(pattern)):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"\0{path.relative_to(folder)}\0".encode())
            digest.update(path.read_bytes())
