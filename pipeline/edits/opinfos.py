"""OpInfos as PyTorch's test files write them: names, variants, aliases and dtypes, read without running anything."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

# Functions of torch/testing/_internal/common_dtype.py that name a set of dtypes; NAME_and(...) adds its arguments.
_FLOATING = ("float32", "float64")
_COMPLEX = ("complex64", "complex128")
COMPLEX = ("complex32", "complex64")
_INTEGRAL = ("uint8", "int8", "int16", "int32", "int64")
_FLOAT8 = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
_DTYPE_SETS = {
    "empty_types": (),
    "floating_types": _FLOATING,
    "double_types": ("float64", "complex128"),
    "complex_types": _COMPLEX,
    "floating_and_complex_types": (*_FLOATING, *_COMPLEX),
    "integral_types": _INTEGRAL,
    "all_types": (*_FLOATING, *_INTEGRAL),
    "all_types_and_complex": (*_FLOATING, *_INTEGRAL, *_COMPLEX),
    "all_types_and_half": (*_FLOATING, *_INTEGRAL, "float16"),
    "all_types_complex_float8": (*_FLOATING, *_INTEGRAL, *_COMPLEX, *_FLOAT8),
    "floating_types_and_half": (*_FLOATING, "float16"),
    "float8_types": _FLOAT8,
    "all_mps_types": ("float16", "bfloat16", "float32", *_INTEGRAL),
    "custom_types": (),
    "_dispatch_dtypes": (),
}
_DTYPE_ALIASES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "chalf": "complex32",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "short": "int16",
    "int": "int32",
    "long": "int64",
}

# What the reflected operators of Python run.
_REFLECTED = {
    "__radd__": "add",
    "__rand__": "bitwise_and",
    "__rdiv__": "div",
    "__rmatmul__": "matmul",
    "__rmod__": "remainder",
    "__rmul__": "mul",
    "__ror__": "bitwise_or",
    "__rpow__": "pow",
    "__rsub__": "sub",
    "__rxor__": "bitwise_xor",
}


@dataclass(frozen=True)
class OpInfo:
    """One OpInfo call. `variant` is None where it is computed; `ref_of` names the operator of a `_refs.` twin."""

    path: str
    line: int
    name: str
    variant: str | None = ""
    aliases: tuple[str, ...] = ()
    aten_name: str = ""
    ref_of: str = ""
    dtypes: tuple[str, ...] | None = ()
    mps_dtypes: tuple[str, ...] | None = None

    @property
    def key(self) -> str:
        """As common_mps.py writes it: name and variant without anything between."""
        return self.name + (self.variant or "")

    @property
    def test_name(self) -> str:
        """As it stands in the name of a test."""
        return test_name(self.name, self.variant or "")

    @property
    def complex_dtypes(self) -> tuple[str, ...]:
        """The complex dtypes that it claims for MPS and that MPS can have."""
        claimed = self.dtypes if self.mps_dtypes is None else self.mps_dtypes
        return tuple(dtype for dtype in COMPLEX if dtype in (claimed or ()))

    def is_key(self, key: str) -> bool:
        return key.startswith(self.name) if self.variant is None else key == self.key

    @property
    def operators(self) -> frozenset[str]:
        """What it tests, by every name: `nn.functional.mish` and `mish`, `special.erfc` and `special_erfc`."""
        own = {self.name, self.key, self.ref_of, self.aten_name, *self.aliases, _REFLECTED.get(self.name, "")}
        own |= {name.removeprefix("_refs.") for name in own}
        own |= {name.removeprefix(prefix) for name in own for prefix in ("nn.functional.", "special.")}
        own |= {name.replace(".", "_") for name in own}
        return frozenset(own - {""})

    def concerns(self, operator: str) -> bool:
        """Whether it tests the operator, by one of its `spellings`."""
        return not self.operators.isdisjoint(spellings(operator))


def spellings(operator: str) -> Iterator[str]:
    """The names whose OpInfos test the operator, named as an OpInfo or as in native_functions.yaml.

    `mish_backward`, `logit_` and `atan2.out` are tested by the OpInfos of mish, logit and atan2.
    """
    yield operator
    root = operator.partition(".")[0]
    yield root
    for suffix in ("_backward", "_forward", "_out", "_"):
        if root.endswith(suffix) and not root.startswith("__"):
            yield root.removesuffix(suffix)


def makes_opinfo(call: ast.Call) -> bool:
    """`OpInfo(...)`, one of its subclasses by name, or a `make_X_opinfo(...)`."""
    maker = call_name(call.func)
    if maker.endswith("Info"):
        return maker not in ("DecorateInfo", "AliasInfo")
    return maker.startswith("make_") and maker.endswith("_opinfo")


def read_opinfo(call: ast.Call, path: str) -> OpInfo | None:
    """What the call says, or None where even its name is computed."""
    fields = {keyword.arg: keyword.value for keyword in call.keywords}
    name = _text(call.args[0] if call.args else fields.get("name"))
    variant_field = fields.get("variant_test_name") or fields.get("torch_opinfo_variant_name")
    variant = _text(variant_field) if variant_field is not None else ""
    if not name and variant and call_name(call.func).startswith("make_"):
        name = call_name(call.func).removeprefix("make_").removesuffix("_opinfo")
    if not name:
        return None
    if call_name(call.func) == "ForeachFuncInfo":
        name = f"_foreach_{name}"
    aliases = fields.get("aliases")
    return OpInfo(
        path=path,
        line=call.lineno,
        name=name,
        variant=variant,
        aliases=tuple(filter(None, map(_text, aliases.elts))) if isinstance(aliases, ast.Tuple | ast.List) else (),
        aten_name=_text(fields.get("aten_name")) or "",
        ref_of=_text(fields.get("torch_opinfo_name")) or "",
        dtypes=read_dtypes(fields["dtypes"]) if "dtypes" in fields else None,
        mps_dtypes=read_dtypes(fields["dtypesIfMPS"]) if "dtypesIfMPS" in fields else None,
    )


def read_dtypes(node: ast.expr) -> tuple[str, ...] | None:
    """The dtypes an expression names, in canonical spelling; None where the expression is None: all of them.

    An expression that cannot be read counts as one dtype of that text, so that it equals no real one.
    """
    if isinstance(node, ast.Constant) and node.value is None:
        return None
    if isinstance(node, ast.Attribute):
        return (_DTYPE_ALIASES.get(node.attr, node.attr),)
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return _flatten(node.elts)
    if isinstance(node, ast.Call) and not node.keywords:
        base = call_name(node.func).removesuffix("_and")
        if base in _DTYPE_SETS:
            return tuple(dict.fromkeys((*_DTYPE_SETS[base], *_flatten(node.args))))
    return (ast.unparse(node),)


def call_name(function: ast.expr) -> str:
    """The last part of a dotted name."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def test_name(name: str, variant: str) -> str:
    """`nn_functional_pad_constant`: what the names of an OpInfo's tests hold (OpInfo.formatted_name)."""
    return "_".join(part.replace(".", "_") for part in (name, variant) if part)


def _flatten(nodes: list[ast.expr]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(dtype for node in nodes for dtype in (read_dtypes(node) or ())))


def _text(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
