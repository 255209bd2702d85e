"""Turns mangled names into what people read, and into the dtype that stands in them."""

from __future__ import annotations

import functools
import re

# C++ types of the runtime's dtypes, as demanglers spell them.
_TYPES = {
    "unsigned char": "Byte",
    "signed char": "Char",
    "short": "Short",
    "int": "Int",
    "long": "Long",
    "sg::Half": "Half",
    "float": "Float",
    "double": "Double",
    "bool": "Bool",
    "sg::BFloat16": "BFloat16",
}
_ANONYMOUS = "(anonymous namespace)::"


@functools.cache
def demangled(name: str) -> str:
    """The demangled name, the name itself if it is not mangled."""
    if not name.startswith("_Z"):
        return name
    import pycxxfilt

    # Compilers add .isra.0, .cold and the like, which are no part of the grammar.
    base, dot, suffix = name.partition(".")
    try:
        text = pycxxfilt.demangle(base)
    except ValueError:
        text = base  # no mangled name, or a damaged one
    return f"{text}{dot}{suffix}" if text else name


def dtype_of(name: str) -> str:
    """The dtype that a function template was instantiated for: Float, or Float+Double of conversions; empty if none."""
    found: list[str] = []
    for argument in _last_template_arguments(demangled(name)):
        dtype = _TYPES.get(argument)
        if dtype and dtype not in found:
            found.append(dtype)
    return "+".join(found)


def kernel_of(name: str) -> str:
    """add of sg::kernels::add(…) and of what takes &sg::kernels::add as a template argument; empty for others."""
    text = demangled(name)
    match = re.search(r"(?:^|&)sg::kernels::(\w+)\(", text)
    return match[1] if match else ""


def short_name(name: str) -> str:
    """The name without parameters and namespaces of ours: conv_body<float>."""
    text = _without_parameters(demangled(name).replace(_ANONYMOUS, ""))
    return re.sub(r"\bsg::(?:kernels::)?", "", text)


def _without_parameters(text: str) -> str:
    """The name without parameter lists and return type: f<T>::table of `void f<T>(int)::table`."""
    kept: list[str] = []
    angles = brackets = 0
    for character in text.replace("operator()", "operator\0").removesuffix(" const"):
        if angles == 0 and character in "()":
            brackets += 1 if character == "(" else -1
        elif brackets == 0:
            angles += (character == "<") - (character == ">")
            kept.append(character)
    return _without_return_type("".join(kept)).replace("\0", "()")


def _without_return_type(head: str) -> str:
    depth = 0
    start = 0
    for i, character in enumerate(head):
        if character == "<":
            depth += 1
        elif character == ">":
            depth -= 1
        elif character == " " and depth == 0:
            start = i + 1
    return head[start:]


def _last_template_arguments(text: str) -> list[str]:
    head = _without_parameters(text)
    if not head.endswith(">"):
        return []
    depth = 0
    end = len(head) - 1
    arguments: list[str] = []
    for i in range(len(head) - 1, -1, -1):
        character = head[i]
        if character in ">)":
            depth += 1
        elif character in "<(":
            depth -= 1
        if (character == "," and depth == 1) or (character == "<" and depth == 0):
            arguments.append(head[i + 1 : end].strip())
            end = i
        if depth == 0:
            break
    return arguments[::-1]
