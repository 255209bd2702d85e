"""Test that the key of a run holds all that its verdict depends on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.gate.cache import any_run_key, kept_verification, whole_run
from sizeguard.gate.cache.any_run_key import any_references
from sizeguard.gate.cache.requested_claims import RequestedClaims
from sizeguard.gate.gate_result import Base

BASE = Base("b", "main")


def requested(head: str | None) -> Any:
    """A request in a history where `p` is the first parent of the base `b`."""
    return SimpleNamespace(
        root=Path(),
        limits=(),
        heads=SimpleNamespace(commit="checked out"),
        history=SimpleNamespace(
            head=head and SimpleNamespace(id=head), first_parent=lambda commit: "p"
        ),
    )


@pytest.fixture
def same_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all commits have equal inputs, and each its own reviewed files."""
    monkeypatch.setattr(any_run_key, "_keys", lambda *_: ["equal"])
    monkeypatch.setattr(any_run_key, "_reviewed", lambda request, commit: {"b.yaml": commit})


@pytest.mark.usefixtures("same_inputs")
@pytest.mark.parametrize("as_base", [False, True])
def test_a_base_and_its_parent_are_references(as_base: bool) -> None:
    """A base of equal inputs is compared with its first parent, whose baselines count, too."""
    found = any_references(requested("b"), BASE, as_base)["base"]
    keys = ["equal"]
    assert found == ["True", keys, keys, [{"b.yaml": "b"}, {"b.yaml": "p"}]]


@pytest.mark.usefixtures("same_inputs")
def test_a_base_before_the_change_is_the_only_reference() -> None:
    found = any_references(requested("h"), BASE, False)["base"]
    assert found == ["False", ["equal"], [], [{"b.yaml": "b"}]]


@pytest.mark.usefixtures("same_inputs")
@pytest.mark.parametrize(
    ("head", "base"), [("h", None), ("h", Base("", "")), (None, BASE)], ids=str
)
def test_without_a_base_there_is_no_reference(head: str | None, base: Base | None) -> None:
    assert any_references(requested(head), base, False)["base"] == []


@pytest.mark.parametrize("before", [None, "other"])
def test_a_result_whose_terms_changed_meanwhile_is_not_stored(
    before: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored: list[object] = []
    monkeypatch.setattr(whole_run, "terms_key", lambda *_: "terms")
    monkeypatch.setattr(whole_run, "inputs_key", lambda *_: "inputs")
    monkeypatch.setattr(whole_run, "_pairs_with_tools", lambda _: ())
    monkeypatch.setattr(whole_run, "keep_result", lambda *each: stored.append(each))
    request: Any = SimpleNamespace(is_repeatable=True)
    result: Any = SimpleNamespace()
    whole_run.store_result(request, None, (), before, result)
    assert stored == []
    whole_run.store_result(request, None, (), "terms", result)
    assert stored == [(request, "inputs", result)]


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("is_repeatable", [False, True])
def test_only_a_run_with_known_inputs_may_have_run_before(
    is_repeatable: bool, again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_run, "inputs_key", lambda *_, **__: "inputs")
    monkeypatch.setattr(whole_run, "earlier_result", lambda *_: "passed")
    request: Any = SimpleNamespace(is_repeatable=is_repeatable, again=again)
    found = whole_run.earlier_run(request, None, ())
    assert found == (
        "inputs" if is_repeatable else None,
        "passed" if is_repeatable and not again else None,
    )


def test_a_run_whose_inputs_are_not_known_is_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_run, "terms_key", lambda *_: "terms")
    monkeypatch.setattr(whole_run, "_pairs_with_tools", lambda _: pytest.fail("looks further"))
    request: Any = SimpleNamespace(is_repeatable=False)
    result: Any = SimpleNamespace()
    whole_run.store_result(request, None, (), "terms", result)


def test_without_a_list_of_packages_there_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    request: Any = SimpleNamespace(other_pairs=lambda: [])
    monkeypatch.setattr(whole_run, "_pairs_with_tools", lambda _: ())
    for packages, has_key in (((Path("status"),), True), ((), False)):
        monkeypatch.setattr(whole_run, "package_lists", lambda packages=packages: packages)
        assert (whole_run.terms_key(request, ()) is not None) == has_key
        assert (whole_run.inputs_key(request, None, ()) is not None) == has_key


def test_inputs_of_a_build_that_are_not_known_give_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    request: Any = SimpleNamespace(other_pairs=lambda: [])
    monkeypatch.setattr(whole_run, "_pairs_with_tools", lambda _: [("app", "target", "tools")])
    monkeypatch.setattr(whole_run, "_all_terms", lambda *_: {})
    monkeypatch.setattr(whole_run, "known_inputs", lambda *_: None)
    assert whole_run.inputs_key(request, None, ()) is None
    monkeypatch.setattr(whole_run, "known_inputs", lambda *_: {})
    monkeypatch.setattr(whole_run, "_bases", lambda *_: [])
    monkeypatch.setattr(whole_run, "_creep", lambda *_: [])
    keys = set()
    for digest in ("1", "2"):
        monkeypatch.setattr(whole_run, "present_digest", lambda *_, digest=digest: digest)
        keys.add(whole_run.inputs_key(request, None, ()))
    assert len(keys - {None}) == 2


def test_debug_files_are_inputs_of_a_verification(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claims of inlined code are judged by them."""
    names = tmp_path / "names.json"
    tree = SimpleNamespace(key=lambda: "sources", names_file=lambda: names)
    monkeypatch.setattr(kept_verification, "source_tree", lambda root: (root, tree))
    monkeypatch.setattr(kept_verification, "full_beside", lambda build: None)
    for name in ("image", "shipped", "selection", "names.json"):
        (tmp_path / name).write_text(name)
    debug = tmp_path / "debug" / "lib"
    debug.mkdir(parents=True)
    build: Any = SimpleNamespace(
        image=tmp_path / "image", shipped=tmp_path / "shipped", objects=(), lto_inputs=(),
        map=None, gc_log=None, selection=None, link_command=None, debug=None,
    )  # fmt: skip

    def inputs() -> object:
        selection = tmp_path / "selection"
        return kept_verification._inputs(tmp_path, build, selection, RequestedClaims())

    without = inputs()
    assert inputs() == without
    build.debug = tmp_path / "debug"
    found = [without]
    for text in ("one", "two"):
        (debug / "image.debug").write_text(text)
        found.append(inputs())
    assert found[0] != found[1] != found[2]
