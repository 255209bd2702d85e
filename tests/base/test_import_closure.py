"""Imports of modules, as the syntax tree has them, and the code that the generator imports."""

from __future__ import annotations

import pytest

from sizeguard.base import import_closure
from sizeguard.runtimes.sizeguard.native_tree import is_generator
from tests.support.places import ROOT


def test_the_code_that_generates_is_what_the_generator_imports() -> None:
    generates = (
        "sizeguard/runtimes/sizeguard/codegen/headers.py",
        "sizeguard/operators/schema.py",
        "sizeguard/operators/library.py",
        "sizeguard/base/yaml/nodes.py",
        "sizeguard/selection/union.py",
    )
    others = (
        "native/runtime/a.cpp",
        "sizeguard/report/gate/render.py",
        "sizeguard/runtimes/sizeguard/codegen/not_imported.py",
    )
    assert all(map(is_generator, generates))
    assert not any(map(is_generator, others))


ODD = """
import sizeguard.a, sizeguard.b as c  # why
from sizeguard.d import e as f, g
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from sizeguard.checkers import alone

    import sizeguard.also
else:
    from sizeguard import otherwise
def h():
    from sizeguard.i import (  # noqa
        j,  # one, two
        k as l,
    )
"""


@pytest.mark.parametrize(
    "more", ["", "if 1: import sizeguard.m", "import a; from sizeguard import n"]
)
def test_imports_are_found_as_the_syntax_tree_has_them(more: str) -> None:
    source = f"{ODD}{more}\n".encode()
    by_tree = {(module, *names) for module, names in import_closure._parsed(source)}
    found = import_closure._scanned(source)
    if more:
        assert found is None
    else:
        assert {(module, *names) for module, names in found or ()} == by_tree
    assert ("sizeguard", "otherwise") in by_tree
    assert not any("checkers" in module for module, *_ in by_tree)


def test_imports_of_the_package_are_found_as_the_syntax_tree_has_them() -> None:
    for path in list((ROOT / "sizeguard").rglob("*.py"))[::7]:
        source = path.read_bytes()
        found = import_closure._scanned(source)
        assert found is None or sorted(found) == sorted(import_closure._parsed(source)), path
