"""Rewrite names of other demanglers, of compilers and of users as LLVM's demangler spells them."""

from __future__ import annotations

import math
import re
import struct

from sizeguard.names.demangle import ANONYMOUS

_REWRITES = (
    (re.compile(r"(?<=::)~ (?=\w)"), "~"),
    # Methods of Rust: <core::Foo>::new
    (re.compile(r"\A<((?:(?! as )[^<>]|<[^<>]*>)+)>::"), r"\1::"),
    # The global scope
    (re.compile(r"(?<![\w>)}\]':])::(?=[\w~(])"), ""),
    (re.compile(r"\boperator +(?=[-+*/%^&|!=<>~,[]|\( ?\))"), "operator"),
    (re.compile(r"\{anonymous\}|<unnamed>|\(anonymous\)"), ANONYMOUS),
    # Generic functions of Rust: max::<u8>
    (re.compile(r"(?<=\w)::<(?!impl |lambda|unnamed|anonymous|enum|struct|class|union)"), "<"),
    # Hashes of Rust crates, also [*] in a pattern; [0] of f16, which binutils takes for a crate
    (re.compile(r"(?<=\w)\[(?:[0-9a-f]{5,16}|\*|0(?=\](?:::|[>,])))\]"), ""),
    # Types of constants in Rust's generic arguments: <3: usize>
    (re.compile(r"(?<=[\w']): (?:[iu](?:8|16|32|64|128|size)|bool|char)(?=[],>])"), ""),
    # Suffixes of clones: [clone .cold] of binutils, (.cold) of LLVM
    (re.compile(r" \[clone ([^]]*)\]"), r"\1"),
    (re.compile(r" \((\.[\w.]+)\)\Z"), r"\1"),
    (re.compile(r"\(bool\)1\b"), "true"),
    (re.compile(r"\(bool\)0\b"), "false"),
    (re.compile(r"\bstd::(?:__cxx11|__1|__ndk1)::"), "std::"),
    (
        re.compile(
            r"\bstd::basic_string<char(?:, ?std::char_traits<char>(?:, ?std::allocator<char> ?)?)?>"
            r"(?!::)"
        ),
        "std::string",
    ),
    (
        re.compile(r"\bstd::basic_(i|o|io)stream<char(?:, ?std::char_traits<char> ?)?>"),
        r"std::\1stream",
    ),
    # operator<< <int> of binutils
    (re.compile(r"(\boperator(?:<<?|\(\)|\[\])) (?=<)"), r"\1"),
    (re.compile(r"\bauto:\d+"), "auto"),
    (re.compile(r"\bdecltype ?\(nullptr\)"), "std::nullptr_t"),
    (re.compile(r"\(std::nullptr_t\)0\b"), "nullptr"),
    (re.compile(r"\((auto[&*]*)\)\.\.\."), r"\1..."),
    (re.compile(r"\{default arg#\d+\}::"), ""),
    (re.compile(r"\Areference temporary #\d+"), "reference temporary"),
    (re.compile(r"\bnoexcept((?: (?:const|volatile|&&?))+)"), r"\1 noexcept"),
    (re.compile(r"\b__vector\((\w+)\)"), r"vector[\1]"),
    (re.compile(r"\b_Complex\b"), "complex"),
    # Empty packs of arguments
    (re.compile(r"(?<=[<(])(?: ?,)+ ?|(?: ?,)+ ?(?=[>)])"), ""),
    (re.compile(r",(?: ?,)+"), ","),
    # People write const T&, demanglers T const&.
    (
        re.compile(
            r"(?:(?<=[(<,])|\A|(?<=\boperator))( ?)const ((?:unsigned |long )*[\w:]+)(?=[&*,)> ])"
        ),
        r"\1\2 const",
    ),
    (re.compile(r" const const\b"), " const"),
    # binutils names the destructor of a lambda after an earlier type.
    (re.compile(r"(?<=[})])::~\w+(?=\(\))"), "::~"),
)
# binutils writes the qualifier of a function's type first: int ( block_pointer)(bool)
_QUALIFIED = re.compile(
    r"\((?: (\w+)|\^)((?: [\w:]+::)?[*&]*)\)"
    r"(\((?:[^()]++|\((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+\))*+\))"
)
_TAG = re.compile(r"\[abi:\w+\]")
_SPACED = re.compile(r"(?<=[\w>)]) :: |\A:: ")
_NUMBERED = re.compile(r"\{(lambda|unnamed type)(\([^{}]*\))?#(\d{1,9})\}")
_INTEGER = re.compile(
    r"(?<!::)\b(?:(?:unsigned|signed|long|short|int|__int128)\b ?)+(?:char\b ?)?(?<! )"
    r"(?! ?double|::)"
)
_NUMBER = re.compile(r"\((float|double)\)\[([0-9a-f]+)\]")  # binutils shows the bits
_PARAMETER = re.compile(r"\{parm#(\d{1,9})\}")
_STREAM = re.compile(r"\bstd::(string|[io]stream|iostream)\b")
_EXPRESSION = re.compile(r"decltype|sizeof|[=!]=|!\(|&&\(|\|\|")


def normal(text: str) -> str:
    """Rewrite a name as LLVM's demangler spells it."""
    text = without_spaces(text)
    for pattern, replacement in _REWRITES:
        text = pattern.sub(replacement, text)
    while (moved := _QUALIFIED.sub(_llvm_qualified, text)) != text:
        text = moved  # again, for those in its parameters
    text = _NUMBER.sub(_llvm_number_of_bits, _INTEGER.sub(_llvm_integer, text))
    return _PARAMETER.sub(_llvm_parameter, _NUMBERED.sub(_llvm_number, text))


def without_spaces(text: str) -> str:
    """Write one space for several, and none around `::` with spaces on both sides."""
    return _SPACED.sub("::", " ".join(text.split()))


def without_tags(text: str) -> str:
    """Remove ABI tags, such as [abi:cxx11]."""
    return _TAG.sub("", text)


def without_defaults(text: str) -> str:
    """Spell std::string as std::basic_string, as if its arguments were left out."""
    return _STREAM.sub(r"std::basic_\1", text)


def with_arguments(text: str) -> str:
    """Spell std::string as std::basic_string with its arguments."""
    return _STREAM.sub(_with_arguments, text)


def is_expression(text: str) -> bool:
    """Return whether a text contains an expression, in which demanglers group differently."""
    return _EXPRESSION.search(text) is not None


def _with_arguments(match: re.Match[str]) -> str:
    allocator = ", std::allocator<char>" if match[1] == "string" else ""
    return f"std::basic_{match[1]}<char, std::char_traits<char>{allocator}>"


def _llvm_integer(match: re.Match[str]) -> str:
    """Spell `long unsigned int` of gcc and `unsigned long int` as `unsigned long`."""
    words = match[0].split()
    if words == ["int"] or (len(words) == 1 and words[0] != "unsigned" and words[0] != "signed"):
        return match[0]
    kinds = [each for each in words if each in ("char", "short", "long", "__int128")]
    sign = [
        each
        for each in words
        if each == "unsigned" or (each == "signed" and kinds[:1] in (["char"], []))
    ]
    if sign == ["signed"] and not kinds:
        sign = []
    return " ".join([*sign[:1], *(kinds or ["int"])])


def _llvm_number_of_bits(match: re.Match[str]) -> str:
    """Spell (double)[4004000000000000] as LLVM does: 0x1.4p+1."""
    form, suffix = (">f", "f") if match[1] == "float" else (">d", "")
    digits = 2 * struct.calcsize(form)
    if len(match[2]) > digits:
        return match[0]
    number = struct.unpack(form, bytes.fromhex(match[2].rjust(digits, "0")))[0]
    if not math.isfinite(number):
        return match[0]
    mantissa, _, exponent = float(number).hex().partition("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{exponent}{suffix}"


def _llvm_qualified(match: re.Match[str]) -> str:
    """Spell int ( block_pointer)(bool), or int (^)(bool) of Apple, as int (bool) block_pointer."""
    return f"{match[3]} {match[1] or 'block_pointer'}{match[2]}"


def _llvm_number(match: re.Match[str]) -> str:
    """Spell {lambda(int)#2} as LLVM does: 'lambda0'(int); the first one has no number."""
    number = int(match[3])
    if not number:
        return match[0]  # there is no such lambda
    word = "lambda" if match[1] == "lambda" else "unnamed"
    return f"'{word}{number - 2 if number > 1 else ''}'{match[2] or ''}"


def _llvm_parameter(match: re.Match[str]) -> str:
    number = int(match[1])
    return f"fp{number - 2 if number > 1 else ''}"
