"""Demangle names of C++, Rust, Swift and Microsoft's C++."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

ANONYMOUS = "(anonymous namespace)"  # as LLVM's demangler writes it

# Longer texts are not shown; longer names would crash the demangler by recursion, as 31 kB of
# pointers do in a thread.
MOST_SHOWN = 4 << 10
MOST_MANGLED = 8 << 10
MOST_COMPARED = 32 << 10  # with names that a user writes

# A reference at most doubles a name, so a symbol of 210 bytes can expand to 33 MB. Names with at
# most this many unknown doublings take some megabytes for a short time.
_DOUBLINGS = 14
_MOST_AT_ONCE = 22

# References to earlier parts of a name, types (S_) and template arguments (T_), and the repeated
# part of a pack. A pack of plain arguments, Dp…T_, does not make a name longer than its arguments.
_TYPE = r"S[0-9A-Z]{0,3}_"
_NUMBER = r"(?:L[0-9A-Z]{0,2}_)?[0-9A-Z]{0,2}_"
_ARGUMENT = rf"T{_NUMBER}"
# In an identifier, sp is rarely before an expression; dispatch has alignof(char) there.
_EXPRESSION = (
    r"[A-Z0-9f]|a[NSadntwz]|c[cdlmov]|d[Vaelnstv]|e[Ooq]|g[ets]|i[lx]|l[Sest]|m[ILilm]|n[aegtwx]"
    r"|o[Rnor]|p[Llmpst]|qu|r[MScms]|s[PZcprst]|t[eilprwy]"
)
_PACK = rf"(?:Dp|sp(?!atc)(?={_EXPRESSION}))(?![ORKPV]*{_ARGUMENT})"
_GROWING = re.compile(rf"{_TYPE}|{_ARGUMENT}|{_PACK}")
# Abbreviations that can stand for a class's name. With the T first a search takes half the time.
_REFERENCES = re.compile(rf"{_TYPE}|T(?<!sZT)(?<!spT){_NUMBER}")
_CLASS_NAMES = [f"{length - 1}{'a' * (length - 1)}" for length in range(10)]

_SWIFT = ("$s", "$S", "_T0", "_TF", "_TW", "_TM", "_Tt")
SWIFT = (*_SWIFT, *(f"_{each}" for each in _SWIFT))  # of Mach-O, too
_MOST_SWIFT = 1 << 10
_MOST_REPEATED = 1 << 21  # times a type, and characters of Microsoft's names: some megabytes
_NOT_SWIFT = "_TMC_END__"  # of gcc, after the underscore before it
# A20B repeats a type 20 times: five such references in 60 bytes make 48 GB.
_SWIFT_REFERENCE = re.compile(r"A[0-9a-z]*[A-Z_]")
_REPEATED = re.compile(r"\d{1,9}|[a-zA-Z_]")
# Parts of one list of parameters in Microsoft's names. A digit in a list repeats an earlier type,
# which can be a function's type with a list of its own: 247 bytes make 1 GB.
_LISTS = re.compile(r"(?<=[A-Z])[68]|@Z")
_DIGIT = re.compile(r"\d")
_RUST_REFERENCE = re.compile(r"B[0-9a-zA-Z]*_")
_MOST_RUST_REFERENCES = 20
_MORE_RUST_REFERENCES = 8  # each time: a text of MOST_SHOWN becomes 1 MiB at most

# Suffixes of gcc's and clang's clones: .isra.0, .cold, .llvm.4711, .constprop.0.isra.0.
_CLONE = re.compile(r"\.[a-z0-9_]+(?:\.[0-9]+)*")
# A copy of a function for vectors of its parameters: _ZGVbN4v__Z1fi of _Z1fi, _ZGVnM2v_f of f.
_OF_VECTORS = re.compile(r"(_?)(_ZGV[a-z][NM](?:\d+|x)[a-zA-Z\d]*)_(?=.)")
# gcc calls unnamed types ._anon_3, or ._3 before version 12: _Z1fIN2ns8._anon_3EEvT_. It puts the
# state of a coroutine f into a class _Z1fv.Frame, a parameter of the parts of f.
_SUFFIX = re.compile(r"\.(?!_(?:anon_)?\d|Frame\b)")


def demangle(name: str, most: int = MOST_SHOWN) -> str:
    """Demangle a name of C++, Rust, Swift or Microsoft's C++; return other names unchanged.

    A name whose text is longer than `most` characters is returned unchanged, too. Clones are
    spelled as in c++filt: f(int) const [clone .isra.0].

    A name takes 2 µs, or 15 µs if its length must be checked in steps, so demangle only the names
    to show. There is no cache: verify requests 1,578 names 2,158 times.
    """
    # Mach-O puts another underscore before each name.
    base = name[1:] if name.startswith("__Z") else name
    if base.startswith("_ZGV") and (vectors := _OF_VECTORS.match(base)):
        return f"{demangle(base[vectors.end() :], most)} [clone .{vectors[2]}]"
    if not base.startswith("_Z") or len(base) > MOST_MANGLED:
        return _of_others(name) or name
    # Compilers add .isra.0, .cold and the like, and linkers @GLIBCXX_3.4, which are not part of
    # the grammar.
    plain, at, version = base.partition("@")
    head = without_clones(plain)
    suffix = plain[len(head) :]
    if "$" in head and head.startswith("_ZN"):  # Rust writes .. for ::
        from sizeguard.names.spellings.legacy_rust import legacy_rust  # 0.3 ms

        text = legacy_rust(head)
        if text:
            shown = text + _clones(suffix) + at + version
            return shown if len(shown) <= most else name
    if _may_explode(head, most):
        return name
    text = _demangled(head)
    if not text or text == head:
        return name
    shown = text + _clones(suffix) + at + version
    return shown if len(shown) <= most else name


def without_clones(symbol: str) -> str:
    """Drop what compilers add to the names of clones: f for f.isra.0.cold and _ZGVbN4v_f."""
    if "_ZGV" in symbol[:5] and (vectors := _OF_VECTORS.match(symbol)):
        symbol = vectors[1] + symbol[vectors.end() :]
    if ".." in symbol and symbol.startswith(("_ZN", "__ZN")):
        # Rust's paths contain dots, too: in _ZN18_$LT$a..B$GT$3runE.llvm.1, the suffix follows the
        # last E.
        path, end, suffix = symbol.rpartition("E")
        return symbol if suffix and suffix[0] != "." else path + end
    if "._" not in symbol and ".Frame" not in symbol:
        return symbol.partition(".")[0]
    found = _SUFFIX.search(symbol)
    return symbol[: found.start()] if found else symbol


def function_text(symbol: str, most: int = MOST_COMPARED) -> str:
    """Demangle a function, or a clone of it, to compare texts of all systems.

    int64_t is always written long, although macOS uses long long. `most` as in demangle.
    """
    return demangle(without_clones(symbol), most).replace("long long", "long")


def demangle_shortened(name: str) -> str:
    """Demangle a C++ name with a short class name for each reference to an earlier part.

    The text is about as long as the name. An identifier that looks like a reference changes, too.
    """
    return _demangled(_REFERENCES.sub(_class_name, name))


def _of_others(name: str) -> str:
    """Demangle a name of a language other than C++; empty if it is not one."""
    base = name[1:] if name.startswith(("__R", "__T", "_$", "_?")) else name
    text = ""
    if len(base) > MOST_MANGLED:
        return ""
    if base.startswith("_R"):
        head, dot, suffix = base.partition(".")
        text = demangle_rust(head)
        text = text + _clones(dot + suffix) if text and dot else text
    elif base.startswith("?"):
        text = "" if _is_repeating(base) else _demangled(base)
    elif base.startswith(_SWIFT) and base != _NOT_SWIFT:
        text = _swift(base)
    return text if len(text) <= MOST_SHOWN else ""


def demangle_rust(name: str) -> str:
    """Demangle a name of Rust's own scheme (_R…); empty for other names.

    Each reference to an earlier part of a name can double the text. So the first ones are resolved,
    then more while the text is short enough to show; _ replaces the others.
    """
    from sizeguard.names.scan.rust_grammar import references  # 0.5 ms

    found = references(name)
    if found is None:
        found = [match.span() for match in _RUST_REFERENCE.finditer(name)]
    shown = _MOST_RUST_REFERENCES
    text = _rust(name, found[shown:])
    while text and len(text) <= MOST_SHOWN and shown < len(found):
        shown += _MORE_RUST_REFERENCES
        text = _rust(name, found[shown:])
    return text


def _rust(name: str, left_out: Sequence[tuple[int, int]]) -> str:
    """Demangle a name of Rust without some references."""
    import pycxxfilt

    for start, end in reversed(left_out):
        name = f"{name[:start]}C1__{name[end:]}"
    try:
        return str(pycxxfilt.rust_demangle(name) or "")
    except ValueError:
        return ""


def _swift(name: str) -> str:
    """Demangle a name of Swift; empty for a name whose text may be endless."""
    repeats = (
        sum(int(each) if each.isdigit() else 1 for each in _REPEATED.findall(found[1:]))
        for found in _SWIFT_REFERENCE.findall(name)
    )
    if len(name) > _MOST_SWIFT or math.prod(1 + each for each in repeats) > _MOST_REPEATED:
        return ""
    try:
        import pydemumble  # takes 2 ms; only Swift needs it
    except ImportError:
        return ""  # this platform has no wheel
    return str(pydemumble.demangle(name) or "")


def _is_repeating(name: str) -> bool:
    """Check whether types that a name of Microsoft's repeats may make its text too long."""
    digits = (len(_DIGIT.findall(each)) for each in _LISTS.split(name))
    return len(name) * math.prod(1 + each for each in digits) > _MOST_REPEATED


def _demangled(name: str) -> str:
    """Return the text of a name; empty if the name is not mangled, or is damaged."""
    text = _by_library(name)
    if text:
        return text
    from sizeguard.names.spellings.refused_names import refused_name  # few names need it

    return refused_name(name, _by_library)


def _by_library(name: str) -> str:
    """Return the library's result for a name; empty if it refuses the name."""
    import pycxxfilt

    try:
        # A friend is no member: clang writes a class around the ones that it constrains.
        return str(pycxxfilt.demangle(name)).replace("::friend ", "::")
    except ValueError:
        return ""


def _clones(suffix: str) -> str:
    """Spell the suffixes of clones as [clone .isra.0]; return other suffixes unchanged."""
    clones = _CLONE.findall(suffix)
    if "".join(clones) != suffix:
        return suffix
    return "".join(f" [clone {clone}]" for clone in clones)


def _may_explode(name: str, most: int) -> bool:
    """Check whether a name has a long text, without making a text that is much longer.

    References are numbered from the left: first demangle the name with later references replaced by
    a short type, then with more of them. Each step multiplies the length by at most 2 to the power
    of _DOUBLINGS. Of the 358,219 names in libtorch_cpu.so, 18,231 need such steps.
    """
    has_packs = "Dp" in name or "sp" in name
    if (name.count("_") <= _DOUBLINGS and not has_packs) or _is_small(name):
        return False
    doublings, weight, pack = 0, 1, len(name).bit_length()
    for found in _GROWING.finditer(name):
        if found[0][0] not in "ST":
            weight += pack  # of each later reference, which may contain this one
            continue
        doublings += weight
        if weight > _MOST_AT_ONCE:
            return True
        if doublings <= _DOUBLINGS:
            continue
        cut = found.start()
        text = _demangled(name[:cut] + _REFERENCES.sub(_class_name, name[cut:]))
        if not text or len(text) > most:
            return True
        doublings = weight
    return False


def _class_name(found: re.Match[str]) -> str:
    """Replace a reference such as S0_ by a class name of the same length, such as 2aa."""
    return _CLASS_NAMES[len(found[0])]


def _is_small(name: str) -> bool:
    """Check that a name's references cannot make it long.

    A type that is referred to n times adds n times its length, including the types that it refers
    to.
    """
    growth = 1
    for text, count in Counter(_GROWING.findall(name)).items():
        if text[0] == "S":
            growth *= 1 + count
        else:
            growth <<= count if text[0] == "T" else count * len(name).bit_length()
        if growth >> _DOUBLINGS:
            return False
    return True


def mangled(path: Sequence[str]) -> str:
    """Return a namespace in its mangled form: 2at6native; std has an abbreviation instead."""
    return "".join(f"{len(word)}{word}" for word in path)
