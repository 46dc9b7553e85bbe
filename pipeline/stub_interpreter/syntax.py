"""The syntax tree of the C++ that stubs are written in. Every node knows its 1-based line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Node:
    line: int


@dataclass(frozen=True)
class Literal(Node):
    """A number, string, character, true, false or nullptr, as the value it stands for."""

    value: object


@dataclass(frozen=True)
class Name(Node):
    """A possibly qualified name without `std::`, `at::`, `c10::` and their like, and its template arguments."""

    path: str
    template: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unary(Node):
    sign: str
    operand: Expression


@dataclass(frozen=True)
class Step(Node):
    """`++x`, `x--` and the like; `prefix` gives the new value."""

    sign: str
    operand: Expression
    prefix: bool


@dataclass(frozen=True)
class Binary(Node):
    sign: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Conditional(Node):
    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True)
class Assign(Node):
    """`target sign value` where sign is = or += and the like."""

    sign: str
    target: Expression
    value: Expression


@dataclass(frozen=True)
class Call(Node):
    function: Expression
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Construct(Node):
    """`Type{...}`, or `Type(...)` where the name is known to be a type."""

    type: str
    items: tuple[Expression, ...]


@dataclass(frozen=True)
class Braced(Node):
    """`{...}` whose type comes from where it stands."""

    items: tuple[Expression, ...]


@dataclass(frozen=True)
class Cast(Node):
    type: str
    operand: Expression


@dataclass(frozen=True)
class Member(Node):
    object: Expression
    name: str
    template: tuple[str, ...] = ()


@dataclass(frozen=True)
class Index(Node):
    object: Expression
    index: Expression


@dataclass(frozen=True)
class Parameter:
    """`type` is normalized; `default` is for functions alone; `changeable` tells that it refers to the argument."""

    type: str
    name: str
    default: Expression | None = None
    changeable: bool = False


@dataclass(frozen=True)
class Lambda(Node):
    """A C++ lambda or an Objective-C block; both see the names around them, and lambdas have copies of `copies`.

    `=` among the copies stands for every name.
    """

    parameters: tuple[Parameter, ...]
    body: Block
    result: str | None = None
    copies: tuple[str, ...] = ()


@dataclass(frozen=True)
class Message(Node):
    """`[receiver selector:argument ...]`."""

    receiver: Expression
    selector: str
    arguments: tuple[Expression, ...]


Expression = (
    Literal
    | Name
    | Unary
    | Step
    | Binary
    | Conditional
    | Assign
    | Call
    | Construct
    | Braced
    | Cast
    | Member
    | Index
    | Lambda
    | Message
)


@dataclass(frozen=True)
class Declare(Node):
    """`type name = value;`; several names for a structured binding. `type` is `auto` or normalized.

    `changeable` tells that the name is another one for what `value` names.
    """

    type: str
    names: tuple[str, ...]
    value: Expression | None
    changeable: bool = False


@dataclass(frozen=True)
class Evaluate(Node):
    expression: Expression


@dataclass(frozen=True)
class Return(Node):
    value: Expression | None


@dataclass(frozen=True)
class If(Node):
    condition: Expression
    then: Statement
    otherwise: Statement | None


@dataclass(frozen=True)
class ForEach(Node):
    names: tuple[str, ...]
    items: Expression
    body: Statement
    changeable: bool = False


@dataclass(frozen=True)
class For(Node):
    start: Statement | None
    condition: Expression | None
    step: Expression | None
    body: Statement


@dataclass(frozen=True)
class While(Node):
    condition: Expression
    body: Statement


@dataclass(frozen=True)
class Leave(Node):
    """`break` or `continue`."""

    word: str


@dataclass(frozen=True)
class Using(Node):
    """`using name = type;`."""

    name: str
    type: str


@dataclass(frozen=True)
class Block(Node):
    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class Several(Node):
    """`int a = 1, b = 2;`: statements in the scope around them."""

    statements: tuple[Statement, ...]


Statement = Declare | Evaluate | Return | If | ForEach | For | While | Leave | Using | Block | Several


@dataclass(frozen=True)
class Function(Node):
    """A function of the stub file. `implements` is the name given to TORCH_IMPL_FUNC, if it is one."""

    name: str
    parameters: tuple[Parameter, ...]
    result: str
    body: Block
    template: tuple[str, ...] = ()
    implements: bool = False


@dataclass(frozen=True)
class StructField:
    """`count` is the length of an array member, else None."""

    type: str
    name: str
    count: int | None = None


@dataclass(frozen=True)
class Struct:
    """A struct of plain members, such as a kernel's params; `template` names its type parameters."""

    name: str
    template: tuple[str, ...]
    fields: tuple[StructField, ...]


@dataclass(frozen=True)
class StubFile:
    """`registered` maps a dispatch stub to the function registered for it."""

    functions: tuple[Function, ...]
    structs: tuple[Struct, ...]
    registered: dict[str, str]
