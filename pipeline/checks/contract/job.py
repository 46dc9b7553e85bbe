"""What is to be held together, as data that another process can be given."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

CHECK = "contract"


@dataclass(frozen=True)
class Job:
    """One operator's host code and the shader that its library is made of.

    `stub` is the text of the host code, empty where it is to be implied by the names the kernel registers; `functions`
    are those that dispatch rows name, empty where the stub registers for dispatch. `kernel_before` is the shader before
    the change, empty for a new one or a fragment on its own. `headers` are texts that may define params structs;
    `include` is the folder that holds `c10/metal`. `claimed` are the dtypes that OpInfo claims for MPS, such as
    "float32"; None where that is not known.
    """

    operator: str
    stub: str
    stub_path: str
    functions: tuple[str, ...]
    kernel: str
    kernel_path: str
    kernel_before: str
    headers: tuple[str, ...]
    include: str
    claimed: tuple[str, ...] | None

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        fields = json.loads(text)
        lists = {
            name: None if fields[name] is None else tuple(fields[name]) for name in ("functions", "headers", "claimed")
        }
        return cls(**{**fields, **lists})
