"""Read the memory regions of a linker script: its MEMORY block, and the symbols it uses."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.input_files import read_input
from sizeguard.formats.linkmap.memory_region import MemoryRegion

_TOKEN = re.compile(
    r'/\*.*?\*/|\s+|"[^"\n]*"|0[xX][0-9a-fA-F]+[kKmM]?|\d+[kKmM]?(?![\w.])'
    r"|[A-Za-z_.$][\w.$]*|<<|>>|<=|>=|==|!=|&&|\|\||.",
    re.DOTALL,
)
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)([kKmM]?)", re.ASCII)
_NAME = re.compile(r"[A-Za-z_.$][\w.$]*")
_FACTOR = {"": 1, "k": 1 << 10, "m": 1 << 20}
_ORIGIN, _LENGTH = ("ORIGIN", "org", "o"), ("LENGTH", "len", "l")
_LARGEST = 1 << 24  # bytes of a script
_DEEPEST = 40  # INCLUDEs in each other, or levels of an expression
_MOST = (1 << 64) - 1
_NO_SYMBOLS: Mapping[str, int] = MappingProxyType({})

# By precedence, lowest first.
_BINARY: tuple[Mapping[str, Callable[[int, int], int]], ...] = (
    {"||": lambda a, b: int(bool(a or b))},
    {"&&": lambda a, b: int(bool(a and b))},
    {"|": operator.or_},
    {"&": operator.and_},
    {"==": operator.eq, "!=": operator.ne},
    {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge},
    {"<<": lambda a, b: a << min(max(b, 0), 64), ">>": lambda a, b: a >> min(max(b, 0), 64)},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": operator.floordiv, "%": operator.mod},
)


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    place: str


def script_number(text: str) -> int | None:
    """Return the value of a number as scripts write it: 64K, 0x100, 0777; None for other texts."""
    number = _NUMBER.fullmatch(text)
    if number is None or len(number[1]) > 40:
        return None
    digits = number[1]
    base = 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" else 10
    try:
        return int(digits, base) * _FACTOR[number[2].lower()]
    except ValueError:
        return None


def script_regions(
    paths: Iterable[Path], folders: Iterable[Path] = (), symbols: Mapping[str, int] = _NO_SYMBOLS
) -> tuple[MemoryRegion, ...]:
    """Read the regions of the scripts of one link; empty if no script has a MEMORY block.

    folders: where INCLUDE looks, in addition to the script's own folder
    symbols: symbols that the command line defines

    Raises InputError, with the line, for a region whose place cannot be computed.
    """
    tokens: list[_Token] = []
    for path in paths:
        tokens += _tokens(path, (path.parent, *folders), 0)
    return _Script(tokens, symbols).regions()


def _tokens(path: Path, folders: tuple[Path, ...], depth: int) -> Iterator[_Token]:
    words = iter(_words(path))
    for word in words:
        if word.text != "INCLUDE":
            yield word
            continue
        name = next(words, _Token("", word.place)).text.strip('"')
        # A name such as regions.ld is one word; a name with a slash is not.
        found = next((f / name for f in folders if name and (f / name).is_file()), None)
        if found is None or depth >= _DEEPEST:
            raise InputError(f"{word.place}: cannot find {name}, which INCLUDE names")
        yield from _tokens(found, folders, depth + 1)


def _words(path: Path) -> Iterator[_Token]:
    data = read_input(path, _LARGEST + 1)
    if len(data) > _LARGEST or b"\0" in data:
        raise InputError(f"{path}: not a linker script")
    text = re.sub(r'(?m)^(\s*INCLUDE\s+)([^\s";]+)', r'\1"\2"', data.decode("utf-8", "replace"))
    line = 1
    for found in _TOKEN.finditer(text):
        word = found[0]
        if not word.isspace() and not word.startswith("/*"):
            yield _Token(word, f"{path}:{line}")
        line += word.count("\n")


class _Script:
    """The words of a script; expressions are evaluated when a region needs them."""

    def __init__(self, tokens: list[_Token], symbols: Mapping[str, int]) -> None:
        self.tokens = [*tokens, _Token("", tokens[-1].place if tokens else "")]
        self.given = symbols
        self.found: dict[str, MemoryRegion] = {}
        self.assigned = {
            token.text: i + 2
            for i, token in enumerate(self.tokens[:-1])
            if _NAME.fullmatch(token.text) and self.tokens[i + 1].text == "="
        }
        self.worked_out: dict[str, int] = {}
        self.at = 0
        self.depth = 0
        self.skips = False

    def regions(self) -> tuple[MemoryRegion, ...]:
        for i, token in enumerate(self.tokens[:-1]):
            if token.text == "MEMORY" and self.tokens[i + 1].text == "{":
                self.at = i + 2
                self._block()
        return tuple(self.found.values())

    def _block(self) -> None:
        while not self._take("}"):
            name = self._name()
            if self._take("("):
                while not self._take(")"):
                    self._next()
            self._expect(":")
            self._field(_ORIGIN)
            origin = self._value()
            self._expect(",")
            # A length may use the origin of its own region.
            self.found[name] = MemoryRegion(name, origin, 0)
            self._field(_LENGTH)
            self.found[name] = MemoryRegion(name, origin, self._value())
            while self._take(",") or self._take(";"):
                pass

    def _field(self, names: tuple[str, ...]) -> None:
        if self._next().text not in names:
            raise self._wrong(f"expected {names[0]}")
        self._expect("=")

    def _value(self) -> int:
        value = self._expression()
        if not 0 <= value < 1 << 64:
            raise self._wrong("no address or size")
        return value

    def _expression(self) -> int:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self._wrong("the expression is nested too deeply")
        value = self._binary(0)
        if self._take("?"):
            first = self._branch(skip=not value)
            self._expect(":")
            second = self._branch(skip=bool(value))
            value = first if value else second
        self.depth -= 1
        return value

    def _branch(self, *, skip: bool) -> int:
        """Evaluate a branch; in a branch that is not taken any name counts as a number."""
        before, self.skips = self.skips, self.skips or skip
        value = self._expression()
        self.skips = before
        return value

    def _binary(self, level: int) -> int:
        if level == len(_BINARY):
            return self._unary()
        value = self._binary(level + 1)
        while self.tokens[self.at].text in _BINARY[level]:
            sign = self._next().text
            other = self._binary(level + 1)
            if self.skips:
                continue
            if sign in "/%" and not other:
                raise self._wrong("a division by 0")
            value = int(_BINARY[level][sign](value, other))
            if abs(value) > _MOST:
                raise self._wrong("a number above 64 bits")
        return value

    def _unary(self) -> int:
        token = self._next()
        if token.text in ("-", "~", "!", "+"):
            self.depth += 1
            if self.depth > _DEEPEST:
                raise self._wrong("the expression is nested too deeply")
            value = self._unary()
            self.depth -= 1
            return {"-": -value, "~": ~value, "!": int(not value), "+": value}[token.text]
        if token.text == "(":
            value = self._expression()
            self._expect(")")
            return value
        if _NUMBER.fullmatch(token.text):
            number = script_number(token.text)
            if number is None:
                raise self._wrong("not a number")
            return number
        return self._named(token.text)

    def _named(self, name: str) -> int:
        if name in ("ORIGIN", "org", "LENGTH", "len", "DEFINED") and self._take("("):
            other = self._name()
            self._expect(")")
            if name == "DEFINED":
                return int(other in self.given)
            region = self.found.get(other)
            if region is None:
                raise self._wrong(f"no region {other} before this one")
            return region.origin if name in ("ORIGIN", "org") else region.length
        if self.skips:
            return 0
        if name in self.given:
            return self.given[name]
        if name in self.worked_out:
            return self.worked_out[name]
        if name not in self.assigned:
            raise self._wrong("a value that this script does not define")
        back, self.at = self.at, self.assigned[name]
        value = self.worked_out[name] = self._expression()
        self.at = back
        return value

    def _name(self) -> str:
        text = self._next().text.strip('"')
        if not text or text in "{}:,=;":
            raise self._wrong("expected a name")
        return text

    def _next(self) -> _Token:
        if self.at >= len(self.tokens) - 1:
            raise InputError(f"{self.tokens[-1].place}: the MEMORY block has no end")
        self.at += 1
        return self.tokens[self.at - 1]

    def _take(self, text: str) -> bool:
        if self.tokens[self.at].text == text:
            self.at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if self._next().text != text:
            raise self._wrong(f"expected '{text}'")

    def _wrong(self, what: str) -> InputError:
        token = self.tokens[max(self.at - 1, 0)]
        return InputError(
            f"{token.place}: cannot read the memory regions at '{token.text}': {what}"
        )
