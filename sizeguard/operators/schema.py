"""PyTorch's operator schemas, such as aten::add.Tensor(Tensor self, …) -> Tensor, as data."""

from __future__ import annotations

from sizeguard.base.dataclass import dataclass

Default = None | bool | int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[bool, ...]

PLAIN_TYPES = frozenset(
    [
        "Tensor",
        "int",
        "SymInt",
        "float",
        "bool",
        "Scalar",
        "str",
        "ScalarType",
        "Layout",
        "Device",
        "MemoryFormat",
        "t",
    ]
)


@dataclass(frozen=True, slots=True)
class Type:
    """Type of an argument or a result.

    name:             one of PLAIN_TYPES, or a custom class such as
        __torch__.torch.classes.xnnpack.LinearOpContext
    optional:         Tensor? and int[]?, for which None is a value
    is_list:          whether it is a list, such as int[]
    element_optional: Tensor?[], whose elements may be None
    length:           2 for int[2], where one number means two equal ones
    """

    name: str
    optional: bool = False
    is_list: bool = False
    element_optional: bool = False
    length: int | None = None

    @property
    def is_class(self) -> bool:
        """Return whether the type is a custom class."""
        return self.name not in PLAIN_TYPES

    def __str__(self) -> str:
        """Return the type as a schema spells it."""
        return _type_text(self, None)


@dataclass(frozen=True, slots=True)
class Alias:
    """The alias annotation of an argument or result.

    (a) may share memory, (a!) is written to, (a -> *) becomes anything.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    is_write: bool

    def __str__(self) -> str:
        """Return the annotation as a schema spells it."""
        text = "|".join(self.before) + ("!" if self.is_write else "")
        return f"({text})" if self.before == self.after else f"({text} -> {'|'.join(self.after)})"


@dataclass(frozen=True, slots=True)
class Argument:
    """Argument of an operator. `default` counts only if `has_default`, since None is a value."""

    name: str
    type: Type
    alias: Alias | None = None
    kwarg_only: bool = False
    has_default: bool = False
    default: Default = None

    def __str__(self) -> str:
        """Return the argument as a schema spells it."""
        text = f"{_type_text(self.type, self.alias)} {self.name}"
        return f"{text}={_default_text(self.default)}" if self.has_default else text


@dataclass(frozen=True, slots=True)
class Return:
    """Result of an operator; most have no name ("")."""

    type: Type
    name: str = ""
    alias: Alias | None = None

    def __str__(self) -> str:
        """Return the result as a schema spells it."""
        text = _type_text(self.type, self.alias)
        return f"{text} {self.name}" if self.name else text


@dataclass(frozen=True, slots=True)
class FunctionSchema:
    """Operator with its arguments and results.

    aten::add.Tensor has the namespace aten, the base add and the overload Tensor.
    """

    namespace: str
    base: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[Return, ...]

    @property
    def name(self) -> str:
        """Name with overload."""
        dot = "." if self.overload else ""
        return f"{self.namespace}::{self.base}{dot}{self.overload}"

    def __str__(self) -> str:
        """Return the schema as PyTorch spells it."""
        shown = [str(argument) for argument in self.arguments]
        for i, argument in enumerate(self.arguments):
            if argument.kwarg_only:
                shown.insert(i, "*")
                break
        returns = ", ".join(map(str, self.returns))
        return (
            f"{self.name}({', '.join(shown)}) ->"
            f" {returns if len(self.returns) == 1 else f'({returns})'}"
        )


def _type_text(type_: Type, alias: Alias | None) -> str:
    """Return a type as PyTorch writes it.

    The alias comes before the brackets of a list of tensors, Tensor(a)[], and after those of a
    generic list, t[](a).
    """
    shown = str(alias) if alias else ""
    element = "?" if type_.element_optional else ""
    brackets = f"[{'' if type_.length is None else type_.length}]" if type_.is_list else ""
    base = (
        f"{type_.name}{brackets}{shown}"
        if type_.name == "t"
        else f"{type_.name}{shown}{element}{brackets}"
    )
    return base + ("?" if type_.optional else "")


def _default_text(value: Default) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(str, value)) + "]"
    return f"'{value}'" if isinstance(value, str) else str(value)
