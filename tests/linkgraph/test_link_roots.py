"""Sections that a linker keeps without a reference, over made-up links.

Symbol i is defined in section i of one object; section 8 is not an input of the link.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sizeguard.linkgraph.elf.roots import (
    STV_DEFAULT,
    STV_HIDDEN,
    STV_INTERNAL,
    find_roots,
)

PROTECTED = 3
BOUNDS = ("__start", "__stop")
NAMES = ("f", "g", "main", "_start", "_init", "_fini")


def roots_of(
    visibility: Mapping[str, int] | None = None,
    *,
    named: tuple[str, ...] = (),  # by a library, in its own references
    needed: tuple[str, ...] = (),  # from a library
    missing: tuple[str, ...] = (),
    sections: Mapping[int, str] | None = None,
    unwind: tuple[int, ...] = (),
    by_rule: Mapping[str, str] | None = None,
    absolute: tuple[str, ...] = (),  # in no section
    also: tuple[tuple[str, int], ...] = (),  # references to a symbol, with a visibility
    **changed: Any,
) -> dict[int, str]:
    """Return the roots of a link of six functions."""
    inputs: dict[str, Any] = {
        "gc_sections": True, "undefined": (), "mode": "executable", "entry": "_start",
        "init": "_init", "fini": "_fini", "export_dynamic": False, "exports": None,
        "exported": None, "exclude_libs": (), "start_stop_gc": False,
        "linker": SimpleNamespace(family=changed.pop("family", "lld")),
        "version_script": SimpleNamespace(is_hidden=lambda name: name in hidden),
    }  # fmt: skip
    hidden = changed.pop("hidden", ())
    member = changed.pop("member", "")
    count = 10
    bounds = (f"{way}_{text}" for text in (sections or {}).values() for way in BOUNDS)
    names = list(dict.fromkeys((*NAMES, *bounds)))
    numbers = {name.encode(): i for i, name in enumerate(names)}
    defined = [name in NAMES and name not in missing for name in names]
    loaded: Any = SimpleNamespace(
        inputs=SimpleNamespace(**{**inputs, **changed}),
        numbers=numbers,
        definition=np.array([(0, i) if is_there else (-1, -1) for i, is_there in
                             enumerate(defined)], np.int64),
        in_shared=np.array([name in named for name in names]),
        from_shared=np.array([name in needed for name in names]),
        objects=[SimpleNamespace(member=member, path=Path("/b/libk.a"))],
    )  # fmt: skip
    is_source = np.ones(count, bool)
    is_source[8] = False
    texts = [(sections or {}).get(i, f".text.{i}") for i in range(count)]
    table: Any = SimpleNamespace(
        is_source=is_source, is_input=is_source, names=texts, type=np.zeros(count, np.int64),
        flags=np.zeros(count, np.int64),
    )  # fmt: skip
    shown = {**dict.fromkeys(names, STV_HIDDEN), **(visibility or {})}
    symbols: Any = SimpleNamespace(
        own=np.array([-1 if name in absolute else i for i, name in enumerate(names)]),
        base=np.zeros(1, np.int64),
        # References follow the definitions; local symbols have no number
        number=np.array([*range(len(names)), -1, *(names.index(name) for name, _ in also)]),
        visibility=np.array([*(shown[name] for name in names), STV_DEFAULT,
                             *(each for _, each in also)], np.int8),
    )  # fmt: skip
    rules: Any = SimpleNamespace(root_of=lambda name, type_, flags: (by_rule or {}).get(name, ""))
    return find_roots(loaded, table, symbols, rules, unwind)


USUAL = {3: "entry", 4: "init", 5: "fini"}


def test_without_removal_of_sections_all_inputs_are_roots() -> None:
    assert roots_of(gc_sections=False) == dict.fromkeys([*range(8), 9], "no --gc-sections")


@pytest.mark.parametrize(
    ("mode", "missing", "expected"),
    [
        ("executable", (), USUAL),
        ("static", (), USUAL),
        ("shared", (), USUAL),
        ("relocatable", (), {}),
        # The start-up code that calls main was not given
        ("executable", ("_start",), {2: "entry", 4: "init", 5: "fini"}),
        ("static", ("_start",), {2: "entry", 4: "init", 5: "fini"}),
        ("shared", ("_start",), {4: "init", 5: "fini"}),
        ("relocatable", ("_start",), {}),
        ("executable", ("_start", "main", "_init", "_fini"), {}),
    ],
)
def test_the_mode_of_a_link_requests_symbols(
    mode: str, missing: tuple[str, ...], expected: dict[int, str]
) -> None:
    assert roots_of(mode=mode, missing=missing) == expected


def test_options_request_symbols_whatever_the_mode_is() -> None:
    assert roots_of(mode="relocatable", undefined=("g", "nobody", "f")) == {0: "-u", 1: "-u"}
    assert roots_of(undefined=("_start",)) == {**USUAL, 3: "-u"}
    assert roots_of(entry="f", missing=("_start",)) == {0: "entry", 4: "init", 5: "fini"}


def test_the_first_reason_counts() -> None:
    rules = {".text.3": "a script", ".text.6": "a script", ".eh_frame": "never asked"}
    found = roots_of(by_rule=rules, sections={7: ".eh_frame"}, unwind=(6, 8, 9))
    more = {6: "a script", 7: "unwind table", 9: "unwind table"}
    assert found == {**USUAL, **more}
    assert 8 not in roots_of(by_rule={".text.8": "a script"})  # no input of the link


@pytest.mark.parametrize(
    ("visibility", "exported"),
    [(STV_DEFAULT, True), (PROTECTED, True), (STV_HIDDEN, False), (STV_INTERNAL, False)],
)
@pytest.mark.parametrize(
    ("changed", "exports"),
    [
        ({"mode": "shared"}, True),
        ({"export_dynamic": True}, True),
        ({}, False),
        ({"mode": "shared", "hidden": ("f",)}, False),
        ({"mode": "shared", "exports": {b"f"}}, True),
        ({"mode": "shared", "exports": {b"g"}}, False),
        ({"exports": {b"f"}, "hidden": ("f",)}, True),
        ({"named": ("f",)}, True),  # a library calls the program's own function
        ({"needed": ("f",)}, True),
        ({"named": ("g",)}, False),
        ({"exported": SimpleNamespace(is_shown=lambda name: name == "f")}, True),
        ({"exported": SimpleNamespace(is_shown=lambda name: name == "g")}, False),
        ({"mode": "shared", "exclude_libs": ("ALL",), "member": "k.o"}, False),
        ({"mode": "shared", "exclude_libs": ("libk.a",), "member": "k.o"}, False),
        ({"mode": "shared", "exclude_libs": ("libm.a",), "member": "k.o"}, True),
        ({"mode": "shared", "exclude_libs": ("ALL",)}, True),  # it is in no archive
    ],
)
def test_exported_symbols_are_roots(
    visibility: int, exported: bool, changed: dict[str, Any], exports: bool
) -> None:
    found = roots_of({"f": visibility}, **changed)
    assert found == {**USUAL, **({0: "exported"} if exported and exports else {})}


@pytest.mark.parametrize(
    ("family", "mode", "visibility", "changed", "kept"),
    [
        # A library defines or needs the symbol, and a version script hides it
        *((family, mode, STV_DEFAULT, {way: ("f",), "hidden": ("f",)}, True)
          for family in ("bfd", "gold") for mode in ("shared", "executable")
          for way in ("named", "needed")),
        *((family, "executable", STV_DEFAULT, {"named": ("f",), "hidden": ("f",)}, False)
          for family in ("lld", "mold")),
        # Hidden symbols
        ("bfd", "executable", STV_HIDDEN, {"named": ("f",)}, True),
        ("bfd", "executable", STV_HIDDEN, {"needed": ("f",)}, False),
        ("bfd", "shared", STV_HIDDEN, {"named": ("f",)}, False),
        ("gold", "executable", STV_HIDDEN, {"named": ("f",)}, True),
        ("gold", "shared", STV_HIDDEN, {"named": ("f",)}, True),
        ("lld", "executable", STV_HIDDEN, {"named": ("f",)}, False),
        ("gold", "shared", STV_HIDDEN, {"named": ("f",), "exports": {b"g"}}, False),
        ("gold", "shared", STV_HIDDEN,
         {"named": ("f",), "exclude_libs": ("ALL",), "member": "k.o"}, False),
        ("gold", "shared", STV_HIDDEN, {"named": ("f",), "exclude_libs": ("ALL",)}, True),
        ("bfd", "executable", STV_HIDDEN, {}, False),
    ],
)  # fmt: skip
def test_some_linkers_keep_what_a_library_names(
    family: str, mode: str, visibility: int, changed: dict[str, Any], kept: bool
) -> None:
    found = roots_of({"f": visibility}, family=family, mode=mode, **changed)
    assert found == {**USUAL, **({0: "exported"} if kept else {})}


@pytest.mark.parametrize(
    ("changed", "kept"),
    [
        ({"mode": "shared"}, True),
        ({"export_dynamic": True}, True),
        ({}, False),
        ({"mode": "shared", "family": "lld"}, False),
        ({"mode": "shared", "start_stop_gc": True}, False),
        ({"mode": "shared", "hidden": ("__start_set", "__stop_set")}, False),
        ({"mode": "shared", "hidden": ("__start_set",)}, True),
    ],
)
def test_bfd_exports_the_bounds_of_sections(changed: dict[str, Any], kept: bool) -> None:
    """They keep the first section of the name; a name must be an identifier of C."""
    sections = {6: "set", 7: "set", 9: "not-a-name"}
    shown = dict.fromkeys(("__start_set", "__stop_set"), STV_DEFAULT)
    shown |= dict.fromkeys(("__start_not-a-name", "__stop_not-a-name"), STV_DEFAULT)
    found = roots_of(shown, sections=sections, **{"family": "bfd", **changed})
    assert found == {**USUAL, **({6: "exported"} if kept else {})}
    hidden = dict.fromkeys(shown, STV_HIDDEN)
    assert roots_of(hidden, sections=sections, **{"family": "bfd", **changed}) == USUAL


@pytest.mark.parametrize(
    ("also", "is_exported"),
    [
        ((), True),
        ((("f", STV_DEFAULT),), True),
        ((("f", PROTECTED),), True),
        ((("f", STV_HIDDEN),), False),
        ((("f", PROTECTED), ("f", STV_INTERNAL)), False),
        ((("g", STV_HIDDEN),), True),
    ],
)
def test_the_strictest_visibility_of_all_objects_counts(
    also: tuple[tuple[str, int], ...], is_exported: bool
) -> None:
    found = roots_of({"f": STV_DEFAULT}, mode="shared", also=also)
    assert found == {**USUAL, **({0: "exported"} if is_exported else {})}


def test_absolute_symbols_keep_no_section() -> None:
    shown = {"f": STV_DEFAULT, "g": STV_DEFAULT}
    found = roots_of(shown, mode="shared", absolute=("g", "_init"), undefined=("g",))
    assert found == {0: "exported", 3: "entry", 5: "fini"}
    found = roots_of(shown, mode="shared", exclude_libs=("ALL",), member="k.o")
    assert found == USUAL
