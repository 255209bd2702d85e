"""The demangler."""

from __future__ import annotations

import re
from collections import Counter

# Longer texts are not shown; symbols with longer names end the demangler's recursion in a crash
# (31 kB of pointers do in a thread).
MOST_SHOWN = 4 << 10
MOST_MANGLED = 8 << 10

# References at most double a name: a symbol of 210 bytes can stand for 33 MB. Up to this many
# doublings of unknown names cost at most some megabytes, for a moment.
_DOUBLINGS = 14
_MOST_AT_ONCE = 22

# References to what a name said before, types (S_) and template arguments (T_), and what a pack
# repeats. A pack of plain arguments, Dp…T_, does not make a name longer than its arguments are.
_TYPE = r"S[0-9A-Z]{0,3}_"
_ARGUMENT = r"T(?:L[0-9A-Z]{0,2}_)?[0-9A-Z]{0,2}_"
# In an identifier, sp is rarely before an expression; dispatch says alignof(char) there.
_EXPRESSION = (
    r"[A-Z0-9f]|a[NSadntwz]|c[cdlmov]|d[Vaelnstv]|e[Ooq]|g[ets]|i[lx]|l[Sest]|m[ILilm]|n[aegtwx]"
    r"|o[Rnor]|p[Llmpst]|qu|r[MScms]|s[PZcprst]|t[eilprwy]"
)
_PACK = rf"(?:Dp|sp(?!atc)(?={_EXPRESSION}))(?![ORKPV]*{_ARGUMENT})"
_GROWING = re.compile(rf"{_TYPE}|{_ARGUMENT}|{_PACK}")
# Abbreviations that can stand for a class's name.
_REFERENCES = re.compile(rf"{_TYPE}|(?<!sZ)(?<!sp){_ARGUMENT}")
_CLASS_NAMES = [f"{length - 1}{'a' * (length - 1)}" for length in range(10)]

_SWIFT = ("$s", "$S", "_T0", "_TF", "_TW", "_TM", "_Tt")
_MOST_SWIFT = 1 << 10
_SWIFT_REFERENCE = re.compile(r"A[a-z]*[A-Z_]")
_RUST_REFERENCE = re.compile(r"B[0-9a-zA-Z]*_")
_MOST_RUST_REFERENCES = 20

# As gcc's and clang's clones end: .isra.0, .cold, .llvm.4711, .constprop.0.isra.0.
_CLONE = re.compile(r"\.[a-z0-9_]+(?:\.[0-9]+)*")


def demangle(name: str) -> str:
    """Demangle a name of C++, Rust, Swift or Microsoft's C++; others are returned unchanged.

    So does one whose text is longer than MOST_SHOWN. Clones are spelled as c++filt does:
    f(int) const [clone .isra.0].

    2 µs a name, 15 µs if its length must be checked in steps: demangle what is shown. No cache:
    verify asks for 1,578 names 2,158 times.
    """
    # Mach-O puts one more underscore before each name.
    base = name[1:] if name.startswith("__Z") else name
    if not base.startswith("_Z") or len(base) > MOST_MANGLED:
        return _of_others(name) or name
    # Compilers add .isra.0, .cold and the like, which are not part of the grammar.
    head, dot, suffix = base.partition(".")
    if _may_explode(head):
        return name
    text = _demangled(head)
    if not text or text == head:
        return name
    shown = text + _clones(dot + suffix) if dot else text
    return shown if len(shown) <= MOST_SHOWN else name


def demangled_path(name: str) -> str:
    """Demangle a name whose text is too long to be shown; empty for what cannot be demangled.

    Scopes and name are those of the symbol. Types that repeat earlier ones are left out of its
    arguments, so that the text is about as long as the name.
    """
    base = name[1:] if name.startswith("__Z") else name
    if not base.startswith("_Z") or len(base) > MOST_MANGLED:
        return ""
    return _demangled(_REFERENCES.sub(_class_name, base.partition(".")[0]))


def _of_others(name: str) -> str:
    """Demangle a name of another language than C++ as gcc and clang mangle it; else empty."""
    base = name[1:] if name.startswith(("__R", "__T", "_$", "_?")) else name
    text = ""
    if len(base) > MOST_MANGLED:
        return ""
    if base.startswith("_R"):
        head, dot, suffix = base.partition(".")
        text = demangle_rust(head)
        text = text + _clones(dot + suffix) if text and dot else text
    elif base.startswith("?"):
        text = _demangled(base)
    elif base.startswith(_SWIFT):
        text = _swift(base)
    return text if len(text) <= MOST_SHOWN else ""


def demangle_rust(name: str) -> str:
    """Demangle a name of Rust's own scheme (_R…); empty for other names.

    Each reference to what a name said before can double the text: behind the first ones, _ stands
    for what they name.
    """
    import pycxxfilt

    found = list(_RUST_REFERENCE.finditer(name))
    if len(found) > _MOST_RUST_REFERENCES:
        start = found[_MOST_RUST_REFERENCES].start()
        name = name[:start] + _RUST_REFERENCE.sub("C1_", name[start:])
    try:
        return str(pycxxfilt.rust_demangle(name) or "")
    except ValueError:
        return ""


def _swift(name: str) -> str:
    """Demangle a name of Swift; empty for one that may have a text without end."""
    if len(name) > _MOST_SWIFT or len(_SWIFT_REFERENCE.findall(name)) > _MOST_RUST_REFERENCES:
        return ""
    try:
        import pydemumble  # 2 ms, for Swift alone
    except ImportError:
        return ""  # there is no wheel for this platform
    return str(pydemumble.demangle(name) or "")


def _demangled(name: str) -> str:
    """Return what the library makes of a name; empty if it is not a mangled name, or damaged."""
    import pycxxfilt

    try:
        return str(pycxxfilt.demangle(name))
    except ValueError:
        return ""


def _clones(suffix: str) -> str:
    """Spell the suffixes of clones, [clone .isra.0]; anything else stays as it is."""
    clones = _CLONE.findall(suffix)
    if "".join(clones) != suffix:
        return suffix
    return "".join(f" [clone {clone}]" for clone in clones)


def _may_explode(name: str) -> bool:
    """Check that a name has a long text, without making one that is much longer.

    References count from the left: a name whose later ones are replaced by a short type is
    demangled first, then one with more of them. Each step multiplies the length by 2 to the power
    of _DOUBLINGS at most. Of 358,219 names of libtorch_cpu.so 18,231 need such steps.
    """
    has_packs = "Dp" in name or "sp" in name
    if (name.count("_") <= _DOUBLINGS and not has_packs) or _is_small(name):
        return False
    doublings, weight, pack = 0, 1, len(name).bit_length()
    for found in _GROWING.finditer(name):
        if found[0][0] not in "ST":
            weight += pack  # of each reference behind, which may be in it
            continue
        doublings += weight
        if weight > _MOST_AT_ONCE:
            return True
        if doublings <= _DOUBLINGS:
            continue
        cut = found.start()
        text = _demangled(name[:cut] + _REFERENCES.sub(_class_name, name[cut:]))
        if not text or len(text) > MOST_SHOWN:
            return True
        doublings = weight
    return False


def _class_name(found: re.Match[str]) -> str:
    """Return a class name as long as a reference, 3aaa: identifiers that hold one stay whole."""
    return _CLASS_NAMES[len(found[0])]


def _is_small(name: str) -> bool:
    """Check that a name's references cannot make it long.

    A type that is referred to n times adds n times its length, which earlier ones make up.
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
