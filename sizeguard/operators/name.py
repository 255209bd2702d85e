"""Names of operators: namespace::base.overload."""

from __future__ import annotations

import re

OPERATOR = re.compile(r"[A-Za-z_][\w.]*::\w+(?:\.\w+)?")
# A name or a schema in constant data.
OPERATOR_TEXT = re.compile(rb"[A-Za-z_][\w.]*::[\x21-\x7e]+")


def family_of(name: str) -> str:
    """Return a name without its overload: aten::add for aten::add.Tensor."""
    return name.split(".", maxsplit=1)[0]


def operator_of(text: str) -> str:
    """Return the name in the text of a table entry: aten::add.Tensor for "aten::add.Tensor(tts)t".

    A text that is not a schema is returned unchanged.
    """
    return text.partition("(")[0]
