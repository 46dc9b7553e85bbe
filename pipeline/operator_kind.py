"""What kind of operator a schema describes, and an estimate of the work its kernel is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from pipeline.dispatch_stubs import Stub
from pipeline.native_functions import Entry


class Difficulty(Enum):
    """S: one functor. M: several inputs or outputs, or indexing. L: an algorithm over rows, windows or matrices."""

    S = "S"
    M = "M"
    L = "L"


@dataclass(frozen=True)
class Kind:
    """`name` in words: unary, binary with alpha, ternary with params, loss, reduction, matrix product and so on."""

    name: str
    difficulty: Difficulty


# Families that the operator's name tells and its arguments do not; the first match counts.
_FAMILIES = tuple(
    (re.compile(pattern), Kind(name, difficulty))
    for pattern, name, difficulty in (
        (r"fused_|foreach_", "fused optimizer", Difficulty.L),
        (r"(?:mps_|slow_)?conv(?!ert)", "convolution", Difficulty.L),
        (r"fft_", "Fourier transform", Difficulty.L),
        (r"lstm|gru|rnn", "recurrent network", Difficulty.L),
        (r"scaled_dot_product|flash_attention", "attention", Difficulty.L),
        (r"v?dot$|add(?:mv|r)$", "vector product", Difficulty.M),
        (r"(?:add|badd|addb)?b?mm$|linear|weight_int|int_mm", "matrix product", Difficulty.L),
        (r"linalg_(?!cross|vector_norm)|cholesky|triangular_solve|lu_|inverse", "linear algebra", Difficulty.L),
        (r"(?:native_)?(?:batch|layer|group|rms)_norm|renorm", "normalization", Difficulty.L),
        (r"weight_norm", "normalization", Difficulty.M),
        (r"(?:adaptive_|mps_)?(?:max|avg)_(?:un)?pool", "pooling", Difficulty.L),
        (r"upsample|grid_sampler", "resampling", Difficulty.M),
        (r"(?:reflection|replication|constant)_pad", "padding", Difficulty.M),
        (r"(?:log_)?softmax", "row reduction", Difficulty.L),
        (r"(?:log)?cum(?:sum|prod|max|min)", "scan", Difficulty.L),
        (r"sort$|topk|kthvalue|(?:nan)?median|mode$|unique", "sort", Difficulty.L),
        (r"searchsorted|bucketize|isin$|bincount|hist", "search or count", Difficulty.M),
        (r"pixel_(?:un)?shuffle|repeat$", "copy", Difficulty.S),
        (r"index|gather|scatter|take|put$|masked_|nonzero|embedding|flip|roll|cat$|tri[lu]", "indexing", Difficulty.M),
        (r"unfold|im2col|col2im|repeat_", "indexing", Difficulty.M),
        (r"glu(?:_backward|_jvp)?$", "gate", Difficulty.M),
        (r"binary_cross_entropy|nll_loss", "loss", Difficulty.M),
        (r"cdist|pdist", "distance", Difficulty.L),
    )
)
_ARITY = {1: "unary", 2: "binary", 3: "ternary"}
_NUMBERS = re.compile(r"(?:const )?(?:c10::|std::optional<)?(?:Scalar|float|double|int64_t|int)\b")
_DIMENSIONS = {"dim", "dims", "keepdim"}


@dataclass(frozen=True)
class Argument:
    """One argument of a schema: `Tensor(a!)`, `out`, and whether it stands behind the `*`."""

    type: str
    name: str
    keyword: bool

    @property
    def is_input(self) -> bool:
        """A tensor that is read; an output is a keyword argument marked with `!`."""
        return self.type.startswith("Tensor") and not ("!" in self.type and self.keyword)


def kind_of(entry: Entry, stub: Stub | None = None) -> Kind:
    """The kind of an operator, by its name, its schema, and the signature of its stub where one is known."""
    operator = entry.func.partition(".")[0].lstrip("_")
    for pattern, kind in _FAMILIES:
        if pattern.match(operator):
            return kind
    if re.search(r"-> Tensor\(\w\)$", entry.schema):
        return Kind("view", Difficulty.S)
    arguments = list(schema_arguments(entry.schema))
    names = {argument.name for argument in arguments}
    tensors = sum(argument.is_input for argument in arguments)
    if any(argument.type.startswith("Generator") for argument in arguments):
        return Kind("random", Difficulty.M)
    if "reduction" in names:
        return Kind("loss", Difficulty.S if tensors == 2 else Difficulty.M)
    if not names.isdisjoint(_DIMENSIONS) or (stub is not None and "min_values" in stub.name):
        return Kind("reduction", Difficulty.L)
    if tensors == 0:
        return Kind("factory", Difficulty.S)
    if not _is_pointwise(entry, stub):
        return Kind("other", Difficulty.M)
    return _pointwise(entry, arguments, tensors, stub)


def _is_pointwise(entry: Entry, stub: Stub | None) -> bool:
    if stub is not None:
        return stub.takes_iterator is not None
    return entry.structured_inherits == "TensorIteratorBase"


def _pointwise(entry: Entry, arguments: list[Argument], tensors: int, stub: Stub | None) -> Kind:
    """Unary, binary or ternary, with alpha for one number beside the tensors and with params for several."""
    if stub is not None and stub.takes_iterator:
        numbers = sum(bool(_NUMBERS.match(parameter)) for parameter in stub.parameters[1:])
    else:
        numbers = sum(bool(_NUMBERS.match(argument.type)) for argument in arguments)
    outputs = entry.schema.rpartition("->")[2].count("Tensor")
    name = _ARITY.get(tensors, f"{tensors} inputs")
    if numbers:
        name += " with alpha" if numbers == 1 else " with params"
    if outputs > 1:
        name += f", {outputs} outputs"
    return Kind(name, Difficulty.S if tensors < 3 and outputs == 1 else Difficulty.M)


def schema_arguments(schema: str) -> Iterator[Argument]:
    """The arguments between the outer brackets of `name.overload(Tensor self, *, Tensor(a!) out) -> Tensor(a!)`."""
    depth = 0
    current = ""
    keyword = False
    for character in schema[schema.find("(") + 1 :]:
        if depth == 0 and character in ",)":
            words = current.partition("=")[0].split()
            keyword = keyword or words == ["*"]
            if len(words) > 1:
                yield Argument(" ".join(words[:-1]), words[-1], keyword)
            current = ""
            if character == ")":
                return
            continue
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
        current += character
