"""The dtype of one name."""

from __future__ import annotations

from sizeguard.names.demangle import demangle
from sizeguard.names.short import last_arguments
from sizeguard.operators.dtypes import dtype_of_type


def dtype_of(name: str) -> str:
    """Find the dtype that a function template was instantiated for.

    For a conversion, return Float+Double; empty if there is none.
    """
    found = map(dtype_of_type, last_arguments(demangle(name)))
    return "+".join(dict.fromkeys(filter(None, found)))
