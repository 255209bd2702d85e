"""Names of objects in different builds of one project."""

from __future__ import annotations

import pytest

from sizeguard.attribution.owners.object_names import TEMPORARY, known_object, lasting_name

TREE = "/src/.sizeguard/worktrees/tree-"


@pytest.mark.parametrize(
    ("one", "other", "lasting", "known"),
    [
        (f"{TREE}00/src/a.o", f"{TREE}07/src/a.o", f"{TREE}00/src/a.o", "src/a.o"),
        ("/tmp/ccAbC123.o", "/tmp/ccxYz789.o", TEMPORARY, ""),
        ("/tmp/main-0a1b2c.o", "/tmp/main-ffeedd.o", "/tmp/main.o", ""),
        ("src/ccparser.o", "src/ccparser.o", "src/ccparser.o", ""),
        ("libk.a(add.o)", "libk.a(add.o)", "libk.a(add.o)", "libk.a(add.o)"),
        ("app.ltrans0.ltrans.o", "app.ltrans0.ltrans.o", "app.ltrans0.ltrans.o", ""),
        ("x.1a2b-cgu.0.rcgu.o", "x.1a2b-cgu.0.rcgu.o", "x.1a2b-cgu.0.rcgu.o", ""),
    ],
)
def test_builds_name_their_objects_alike(one: str, other: str, lasting: str, known: str) -> None:
    assert lasting_name(one) == lasting_name(other) == lasting
    assert known_object(one) == known_object(other) == known_object(lasting) == known
