"""Find kernels of our runtime in mangled and demangled names."""

from __future__ import annotations

import re

from sizeguard.names.demangle import demangle

# Namespaces that short names leave out.
HIDDEN_PREFIXES = ("sg::kernels::", "sg::")
CLASS_REGISTRAR = "register_class"  # the function that takes a custom class

_OF_SYMBOL = re.compile(r"(?:^|&)sg::kernels::(\w+)\(")


def kernel_of(symbol: str) -> str:
    """Return the kernel of a symbol or of its template argument; empty for others.

    Examples: add for sg::kernels::add(…) and for boxed<&sg::kernels::add(…)>.
    """
    match = _OF_SYMBOL.search(demangle(symbol))
    return match[1] if match else ""
