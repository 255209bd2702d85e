"""Names of objects as all builds of a project have them.

Builds of one gate have separate worktrees if they are made in parallel. Compilers that also link
name their objects at random: cc0a1b2c.o of gcc, main-0a1b2c.o of clang.
"""

from __future__ import annotations

import re

TEMPORARY = "(temporary objects)"
_TREES = "/worktrees/tree-"
_TREE = re.compile(re.escape(_TREES) + r"\d+/")
_FOLDERS = ("/tmp/", "/var/tmp/")
_RANDOM = re.compile(r"(?:/var)?/tmp/cc[A-Za-z0-9]{6}\.o|((?:/var)?/tmp/[^/]+)-[0-9a-f]{6}\.o")
# Those of gcc in any folder, of clang, and what holds other functions in each build: parts of a
# program that is optimized as a whole, and codegen units of rustc.
_UNTELLING = re.compile(
    r"(^|/)cc[A-Za-z0-9]{6}\.o$|^(/var)?/tmp/[^/]+\.o$"
    r"|(^|[/.])ltrans\d*\.(ltrans\.)?o$|\.lto\.(\d+\.)?o$|\.rcgu\.o\)?$"
)


def lasting_name(file: str) -> str:
    """Return an object's name without the number of its worktree and the random part."""
    if _TREES in file:
        return _TREE.sub(f"{_TREES}00/", file)
    found = _RANDOM.fullmatch(file) if file.startswith(_FOLDERS) else None
    if found is None:
        return file
    return f"{found[1]}.o" if found[1] else TEMPORARY


def known_object(file: str) -> str:
    """Return an object's path from its worktree; empty if its name says nothing of its content."""
    if file == TEMPORARY or _UNTELLING.search(file):
        return ""
    return file[found.end() :] if (found := _TREE.search(file)) else file
