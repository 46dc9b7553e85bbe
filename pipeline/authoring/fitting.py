"""Fits a pattern to an operator: which one its operands and numbers call for, and what they are named."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from pipeline.authoring.dtypes import registrations
from pipeline.authoring.facts import Facts
from pipeline.authoring.functions import Function, Parameter
from pipeline.authoring.reference import Reference
from pipeline.authoring.shape import CONDITIONS, HELPERS, NUMBER, Number, Pattern, Shape
from pipeline.errors import Refusal
from pipeline.exec_kernel.dtypes import Dtype
from pipeline.native_functions import Entry
from pipeline.operator_kind import schema_arguments

# Words of the language, and what the templates call their own.
_KEYWORDS = {
    "constant",
    "default",
    "device",
    "kernel",
    "new",
    "operator",
    "register",
    "template",
    "thread",
    "threadgroup",
}
_RESERVED = _KEYWORDS | {
    *("dim_size", "group", "index", "inner", "iter", "ndim", "params", "partial", "pos", "reduced", "rest", "results"),
    *("row", "sizes", "start", "sum", "thread_index", "threads", "types"),
}
_OF_THE_FRONT = ("dim", "keepdim", "reduction", "unbiased", "dtype")
_ALONG_ROWS = ("row reduction", "reduction", "scan", "sort")


def shape_of(facts: Facts, reference: Reference) -> Shape:
    """Raises Refusal where the host code takes or returns something that no pattern covers."""
    _refuse_foreign(facts.functions)
    base = _base(facts)
    numbers = tuple(_numbers(facts))
    iterates = _iterates(facts, reference)
    inputs, outputs = _tensors(facts, iterates, reference)
    pattern = _pattern(facts, iterates, inputs, outputs, numbers)
    return Shape(
        pattern=pattern,
        operator=facts.operator.name,
        base=base,
        function=f"{base}_kernel_mps",
        parameters=_parameters(facts, iterates, inputs, outputs, numbers),
        inputs=inputs,
        outputs=outputs,
        numbers=numbers if pattern in (Pattern.HELPER, Pattern.ITERATOR) else (),
        registered=registrations(reference.results or _claimed(facts)),
        stub=facts.stub,
        functions=facts.functions,
    )


def _refuse_foreign(functions: Sequence[Function]) -> None:
    for function in functions:
        returned = re.sub(r"std::tuple<|>|[&, ]", "", function.returns).replace("Tensor", "")
        plain = not returned and all("List" not in each.type for each in function.parameters if "Tensor" in each.type)
        if not plain or not (function.outputs or function.operands):
            signature = f"{function.returns or 'void'} ({', '.join(each.type for each in function.parameters)})"
            raise Refusal(f"there is no skeleton for {function.name}: {signature}", hint="write it by hand")
        if function.outputs and re.search(r"Tensor\b(?!&)", function.returns):
            written = ", ".join(function.outputs)
            raise Refusal(f"{function.name} writes {written} and returns more than that", hint="write it by hand")
        apart = next((what for what, of in _COMMON.items() if of(function) != of(functions[0])), None)
        if apart is not None:
            raise Refusal(
                f"{functions[0].name} and {function.name} {apart}, which takes a kernel for each",
                hint="give each an entry of its own in the manifest",
            )


_COMMON: Mapping[str, Callable[[Function], object]] = {
    "read different tensors": lambda function: set(function.operands),
    "give different numbers of results": lambda function: function.result_count,
    "do not both take a dim": lambda function: "int64_t dim" in map(str, function.parameters),
}
"""What the functions of one kernel share."""


def _tensors(facts: Facts, iterates: bool, reference: Reference) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is read and what is written, under names that do not clash."""
    if facts.stub is not None and not iterates:
        given = [each for each in _named_parameters(facts) if each.is_tensor]
        written = {each.name for each in schema_arguments(facts.entry.schema) if "!" in each.type}
        outputs = tuple(each.name for each in given if each.type == "Tensor&" or each.name in written)
        if not outputs:
            signature = ", ".join(facts.stub.parameters)
            raise Refusal(f"nothing tells what {facts.stub.name} writes: ({signature})", hint="write the stub by hand")
        return tuple(each.name for each in given if each.name not in outputs), outputs
    if facts.functions and not iterates:
        # They hand on what they are given; what the reference reads may come in another order.
        inputs, outputs = _distinct(facts.functions[0].operands), _outputs(facts)
    else:
        inputs, outputs = _distinct(reference.inputs or _operands(facts)), _outputs(facts)[: reference.outputs]
    return inputs, tuple(f"{name}_result" if name in inputs else name for name in outputs)


def _base(facts: Facts) -> str:
    """What kernel, functor and host function are called after: the stub, else the operator."""
    stub = facts.stub.name if facts.stub else ""
    if stub.endswith("_stub"):
        return stub.removesuffix("_stub")
    return (facts.operator.name if not stub else stub.removesuffix("_kernel")).strip("_").lower()


def _iterates(facts: Facts, reference: Reference) -> bool:
    """The host code gets, or can make, an iterator that walks all operands together."""
    if facts.stub is not None:
        return facts.stub.takes_iterator is not None
    if reference.pointwise:
        return True
    arity = facts.kind.partition(" ")[0].partition(",")[0]
    if arity in HELPERS.values() or facts.kind == "loss" or "pointwise" in facts.entry.tags:
        return True
    function = facts.functions[0]
    return facts.kind == "other" and bool(function.operands) and all(each.is_tensor for each in function.inputs)


def _pattern(
    facts: Facts, iterates: bool, inputs: Sequence[str], outputs: Sequence[str], numbers: Sequence[Number]
) -> Pattern:
    if not iterates:
        along = facts.kind in _ALONG_ROWS and "int64_t dim" in _spelled_parameters(facts)
        return Pattern.ROWS if along and inputs else Pattern.ELEMENTS
    if facts.kind == "reduction" and len(inputs) == len(outputs) == 1:
        return Pattern.REDUCTION
    if len(outputs) > 1 or not 1 <= len(inputs) <= 3 or not CONDITIONS.isdisjoint(inputs):
        return Pattern.ITERATOR
    return Pattern.ITERATOR if len(inputs) == 3 and numbers else Pattern.HELPER


def _spelled_parameters(facts: Facts) -> set[str]:
    given = _named_parameters(facts) if facts.stub else ()
    return {str(each) for parameters in (given, *(each.parameters for each in facts.functions)) for each in parameters}


def _numbers(facts: Facts) -> Iterator[Number]:
    for parameter in _named_parameters(facts) if facts.stub else _own_parameters(facts):
        if NUMBER.fullmatch(parameter.type):
            yield Number(parameter.name, parameter.type)


def _own_parameters(facts: Facts) -> tuple[Parameter, ...]:
    """Beside its tensors a function takes numbers; where and how to reduce is no business of the kernel."""
    skipped = ("dim", "reduction")
    return tuple(each for each in facts.functions[0].inputs if each.name not in skipped)


def _named_parameters(facts: Facts) -> tuple[Parameter, ...]:
    """The parameters of the stub's function, named after the schema's of their kind, the last ones first."""
    assert facts.stub is not None
    types = [" ".join(type_.replace(" &", "&").split()) for type_ in facts.stub.parameters]
    iterator = facts.stub.takes_iterator is not None
    names = _schema_names(facts.entry, of_iterator=iterator, apart="Tensor&" in types)
    named: list[Parameter] = []
    for position in range(len(types) - 1, -1, -1):
        if position == 0 and iterator:
            named.append(Parameter(types[0], "iter"))
        else:
            kind = "written" if types[position] == "Tensor&" else _kind_of(types[position])
            named.append(Parameter(types[position], _free(next(names[kind], _usual_name(types[position], position)))))
    return tuple(reversed(named))


def _usual_name(type_: str, position: int) -> str:
    """For a parameter that the schema has no name for."""
    if NUMBER.fullmatch(type_):
        return "alpha" if position == 1 else f"alpha{position}"
    return f"argument{position}"


def _schema_names(entry: Entry, *, of_iterator: bool, apart: bool) -> dict[str, Iterator[str]]:
    """Kind of parameter -> the schema's names of it, the last first.

    With an iterator, where to reduce is no stub's business. Without, ATen passes what is written first; `apart`: its
    type tells it from what is read.
    """
    found: dict[str, list[str]] = {"written": [], "tensor": [], "number": [], "flag": [], "other": []}
    for argument in schema_arguments(entry.schema):
        if "!" in argument.type:
            found["written"].insert(0, argument.name)
        elif not (of_iterator and argument.name in _OF_THE_FRONT):
            found[_kind_of(argument.type)].insert(0, argument.name)
    if not (of_iterator or apart):
        found["tensor"] += found["written"]
    return {kind: iter(names) for kind, names in found.items()}


def _kind_of(type_: str) -> str:
    """Of a parameter in C++ or in a schema."""
    if "Tensor" in type_:
        return "tensor"
    if re.match(r"(?:const )?bool\b", type_):
        return "flag"
    return "number" if NUMBER.fullmatch(type_.removesuffix("?")) else "other"


def _outputs(facts: Facts) -> tuple[str, ...]:
    if facts.functions:
        written = max((function.outputs for function in facts.functions), key=len)
        count = max(function.result_count for function in facts.functions)
    else:
        arguments = schema_arguments(facts.entry.schema)
        written = tuple(each.name for each in arguments if "!" in each.type)
        count = facts.entry.schema.rpartition("->")[2].count("Tensor")
    if written and written != ("self",):
        return _distinct(written)
    return ("output",) if count <= 1 else tuple(f"output{index}" for index in range(count))


def _operands(facts: Facts) -> tuple[str, ...]:
    written = {each.name for each in schema_arguments(facts.entry.schema) if "!" in each.type}
    tensors = (each.name for each in schema_arguments(facts.entry.schema) if each.type == "Tensor")
    return tuple(name for name in tensors if name not in written)


def _parameters(
    facts: Facts, iterates: bool, inputs: Sequence[str], outputs: Sequence[str], numbers: Sequence[Number]
) -> tuple[Parameter, ...]:
    if facts.stub is not None:
        return _named_parameters(facts)
    if iterates:
        return (Parameter("TensorIteratorBase&", "iter"), *(Parameter(each.type, each.name) for each in numbers))
    dim = [Parameter("int64_t", "dim")] if "int64_t dim" in _spelled_parameters(facts) else []
    return (*(Parameter("const Tensor&", name) for name in (*outputs, *inputs)), *dim)


def _claimed(facts: Facts) -> dict[Dtype, Dtype]:
    """What the OpInfos claim for MPS, for an operator that the installed torch does not have."""
    names = [
        name
        for opinfo in facts.opinfos
        for name in ((opinfo.dtypes if opinfo.mps_dtypes is None else opinfo.mps_dtypes) or ())
    ]
    known = {dtype.torch_name: dtype for dtype in Dtype if dtype.on_mps}
    found = {known[name]: known[name] for name in names if name in known}
    return found or {Dtype.FLOAT32: Dtype.FLOAT32}


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Names for parameters: a tensor that comes twice is `other` the second time, keywords get an underscore."""
    found: list[str] = []
    for name in map(_free, names):
        found.append(name if name not in found else "other" if "other" not in found else f"{name}{len(found)}")
    return tuple(found)


def _free(name: str) -> str:
    return f"{name}_" if name in _RESERVED else name
