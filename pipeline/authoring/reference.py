"""What the CPU operator is called with and answers, as data: what the numerical check will hold a kernel against."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from pipeline.exec_kernel.dtypes import Dtype


@dataclass(frozen=True)
class Reference:
    """The operator that the check runs on the CPU.

    `overload` is empty where the installed torch has no such operator. `inputs` are the schema's names of the tensors
    in the order in which the host code gets them, one name twice where ATen passes the tensor twice. `results` tells
    for every dtype that the CPU answers, with all inputs of that dtype, the dtype of the first result. `pointwise`: the
    check crosses values with each other. `outputs` is how many results count, where the others are the CPU's alone.
    """

    overload: str = ""
    inputs: tuple[str, ...] = ()
    results: Mapping[Dtype, Dtype] = field(default_factory=dict)
    pointwise: bool = False
    outputs: int | None = None

    def to_json(self) -> str:
        results = {dtype.torch_name: result.torch_name for dtype, result in self.results.items()}
        return json.dumps({**vars(self), "results": results})

    @classmethod
    def from_json(cls, text: str) -> Reference:
        fields = json.loads(text)
        results = {Dtype.of_torch(dtype): Dtype.of_torch(result) for dtype, result in fields["results"].items()}
        return cls(**{**fields, "inputs": tuple(fields["inputs"]), "results": results})
