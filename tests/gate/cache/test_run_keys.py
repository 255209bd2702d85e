"""Test that the key of a run holds all that its verdict depends on."""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.gate.cache import any_run_key, kept_verification, whole_run
from sizeguard.gate.cache.any_run_key import any_references
from sizeguard.gate.cache.requested_claims import RequestedClaims
from sizeguard.gate.cache.whole_run import inputs_key
from sizeguard.gate.causes.growth_result import SizeGrowth
from sizeguard.gate.gate_result import CREEP, AppResult, Base, GateResult
from sizeguard.gate.policy.terms_result import Waiver

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


class Waiving(SimpleNamespace):
    """A waiver of a file or a trailer, as far as keys of runs have it."""

    is_trailer: bool


@pytest.mark.parametrize("trailers", [(), (False,), (True,), (False, True)])
def test_a_merge_counts_beside_any_trailer(
    monkeypatch: pytest.MonkeyPatch, trailers: tuple[bool, ...]
) -> None:
    """A trailer is spent before the merge, also beside waivers of the file."""
    monkeypatch.setattr(whole_run, "_pairs_with_tools", lambda _: [])
    monkeypatch.setattr(whole_run, "_all_terms", lambda *_: {"terms": "equal"})
    request: Any = SimpleNamespace(other_pairs=lambda: [])
    waivers: Any = [Waiving(is_trailer=each) for each in trailers]
    bases = (None, BASE, replace(BASE, merged=True))
    none, before, merged = (inputs_key(request, base, waivers) for base in bases)
    assert none == before is not None
    assert (merged != before) == (True in trailers)
    monkeypatch.setattr(whole_run, "_all_terms", lambda *_: None)
    assert inputs_key(request, BASE, waivers) is None


@pytest.mark.parametrize(
    ("is_repeatable", "before", "now", "pairs", "is_recorded", "is_kept"),
    [
        (True, "terms", "terms", [], False, True),
        (True, "terms", "terms", ["a"], True, True),
        (True, "terms", "terms", ["a"], False, False),  # an input changed during the build
        (True, "terms", "other", [], True, False),
        (True, None, None, [], True, False),
        (False, "terms", "terms", [], True, False),
    ],
)
def test_a_result_is_kept_if_its_inputs_stayed_the_same(
    monkeypatch: pytest.MonkeyPatch, is_repeatable: bool, before: str | None, now: str | None,
    pairs: list[str], is_recorded: bool, is_kept: bool,
) -> None:  # fmt: skip
    kept: list[object] = []
    for name, value in {
        "terms_key": now, "_pairs_with_tools": pairs, "keep_record": is_recorded, "inputs_key": "k",
    }.items():  # fmt: skip
        monkeypatch.setattr(whole_run, name, lambda *_, value=value: value)
    monkeypatch.setattr(whole_run, "keep_result", lambda request, *what: kept.append(what))
    request: Any = SimpleNamespace(is_repeatable=is_repeatable)
    result = GateResult(PASS, ())
    whole_run.store_result(request, BASE, (), before, result)
    assert kept == ([("k", result)] if is_kept else [])


@pytest.mark.parametrize(
    ("key", "verdict", "skipped", "is_kept"),
    [
        ("k", PASS, "", True),
        (None, PASS, "", False),
        ("k", FAIL, "", False),
        ("k", INCONCLUSIVE, "", False),
        ("k", PASS, "nothing has changed", False),
    ],
)
def test_only_a_pass_of_its_own_is_kept(
    monkeypatch: pytest.MonkeyPatch, key: str | None, verdict: str, skipped: str, is_kept: bool
) -> None:
    kept: dict[str, object] = {}
    monkeypatch.setattr(whole_run, "facts_of", lambda result: "facts")
    place = SimpleNamespace(store=SimpleNamespace(put=kept.__setitem__))
    request: Any = SimpleNamespace(history=SimpleNamespace(place=place))
    whole_run.keep_result(request, key, GateResult(verdict, (), skipped=skipped))
    assert kept == ({"k": "facts"} if is_kept else {})


def test_growth_since_a_release_counts_with_the_release_s_measurement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another commit of the tag is another key."""
    monkeypatch.setattr(whole_run, "recipe_of", lambda *_: "recipe")
    limits = [SimpleNamespace(kind=kind, since=f"{kind} of v1") for kind in (CREEP, "growth")]
    history: Any = SimpleNamespace(
        head="commit",
        commit=lambda name: SimpleNamespace(id=f"commit of {name}"),
        key=lambda commit, recipe: f"{recipe} for {commit}",
    )
    request: Any = SimpleNamespace(limits=limits, history=history, runtime=None)
    app: Any = SimpleNamespace(name="a")
    none: Any = None
    since = f"{CREEP} of v1"
    assert whole_run._creep(request, app, none, none) == {since: f"recipe for commit of {since}"}
    history.head = None
    assert whole_run._creep(request, app, none, none) == {since: ""}


@pytest.mark.parametrize(
    ("base", "head", "more", "differs", "as_base", "expected"),
    [
        (None, "h", {}, [], False, []),
        ("", "h", {}, [], False, []),
        ("b", None, {}, [], False, []),
        ("b", "b", {}, [], False, ["key b", "True", "key p", "a.c", "a.c of p"]),
        ("b", "h", {}, [], False, ["key b", "False"]),
        ("b", "h", {}, [], True, ["key b", "True", "key p", "a.c", "a.c of p"]),
        ("b", "h", {}, ["b.c"], True, ["key b", "False", "b.c", "b.c of b"]),
        ("b", "b", {}, ["b.c"], False, ["key b", "False", "b.c", "b.c of b"]),
        (
            "b", "b", {"merged": True}, ["b.c"], False,
            ["key b", "False", "b.c", "b.c of b", "key p", "a.c", "a.c of p"],
        ),
        ("r", "r", {}, [], False, ["key r", "True"]),  # the first commit of all
    ],
)  # fmt: skip
def test_the_key_has_the_reference_of_growth_and_what_differs_from_it(
    monkeypatch: pytest.MonkeyPatch, base: str | None, head: str | None, more: dict[str, bool],
    differs: list[str], as_base: bool, expected: list[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(whole_run, "recipe_of", lambda *_: "recipe")
    read = {"p": ["a.c"]}
    monkeypatch.setattr(whole_run, "_read_of", lambda request, at, _: read.get(at, differs))
    monkeypatch.setattr(
        whole_run, "_texts", lambda request, at, paths: [f"{path} of {at}" for path in paths]
    )
    history = SimpleNamespace(
        head=head and SimpleNamespace(id=head),
        first_parent=lambda commit: {"b": "p"}.get(commit, ""),
        key=lambda commit, recipe: f"key {commit}",
    )
    request: Any = SimpleNamespace(history=history, runtime=None)
    pair: Any = (SimpleNamespace(name="a"), None, None)
    options: Any = more
    of = None if base is None else Base(base, "main", **options)
    none: Any = None
    found = whole_run._bases(request, of, [pair, pair], none, as_base)
    assert found == [expected, expected]


def test_the_emulator_counts_if_the_target_s_program_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(whole_run, "run_prefix", lambda machine: machine.split())
    monkeypatch.setattr(shutil, "which", lambda name: name if name == "qemu" else None)
    monkeypatch.setattr(whole_run, "file_hash", lambda path: f"hash of {path}")
    for machine, run, expected in (
        ("qemu -L /", True, "hash of qemu"),
        ("qemu -L /", False, ""),
        ("", True, ""),  # the host
        ("gone", True, ""),
    ):
        target: Any = SimpleNamespace(machine=machine, run=run)
        assert whole_run._emulator(target) == expected


def test_hashed_files_have_the_same_names_in_each_checkout(tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        root = tmp_path / name
        root.mkdir()
        (root / "a").write_text("x")
        (tmp_path / "out").write_text("y")
        paths = [root / "a", root / "gone", root, tmp_path / "out"]
        found.append(whole_run._hashes(root, paths))
        assert {*whole_run._hashes(None, paths)} == {str(root / "a"), str(tmp_path / "out")}
    assert found[0] == found[1]
    assert {*found[0]} == {str(tmp_path / "out"), "a"}


def test_waivers_count_with_their_content_and_whether_they_are_expired() -> None:
    waiver = Waiver("load", "a", "", 9, "wanted", "me", "2026-11-21", "")
    others = [
        replace(waiver, metric="ram"), replace(waiver, app="b"), replace(waiver, bytes=8),
        replace(waiver, expires="2026-11-22"), replace(waiver, source="commit a"),
    ]  # fmt: skip
    today = datetime.date(2026, 11, 21)

    def key(waivers: Sequence[Waiver], day: datetime.date = today, *, is_whole: bool = True) -> str:
        request: Any = SimpleNamespace(is_whole=is_whole, today=day)
        return str(whole_run._waivers(request, waivers))

    keys = [key([]), key([waiver]), *(key([each]) for each in others)]
    keys += [key([waiver, others[0]]), key([waiver], is_whole=False)]
    keys += [key([waiver], today + datetime.timedelta(1))]
    assert len({*keys}) == len(keys)
    assert key([], is_whole=False) == key([])


@pytest.mark.parametrize(
    ("keys", "again", "stored", "asked", "is_base"),
    [
        (("k", "b"), False, {"k": "own", "b": "base"}, ["k"], False),
        (("k", "b"), False, {"b": "base"}, ["k", "b"], True),
        (("k", "b"), False, {}, ["k", "b"], None),
        (("k", "k"), False, {}, ["k"], None),  # it is on the base itself
        (("k", None), False, {}, ["k"], None),
        (("k", "b"), True, {"k": "own"}, [], None),
        ((None, "b"), False, {"b": "base"}, [], None),
    ],
)
def test_a_run_passes_as_an_equal_one_or_its_base_did(
    monkeypatch: pytest.MonkeyPatch, keys: tuple[str | None, str | None], again: bool,
    stored: dict[str, str], asked: list[str], is_base: bool | None,
) -> None:  # fmt: skip
    found: list[object] = []

    def earlier(request: object, key: str, base: object) -> GateResult | None:
        found.append(key)
        if key not in stored:
            return None
        app = AppResult("a", "t", "gcc", PASS, None, None, (), (), (), (), None)
        grown = [replace(app, growth_since_base=SizeGrowth(1, 2, 3)), app]
        return GateResult(PASS, tuple(grown), skipped=stored[key])

    monkeypatch.setattr(whole_run, "earlier_result", earlier)
    monkeypatch.setattr(whole_run, "inputs_key", lambda *_, as_base=False: keys[as_base])
    request: Any = SimpleNamespace(is_repeatable=True, again=again)
    key, result = whole_run.earlier_run(request, BASE, ())
    assert (key, found, result is None) == (keys[0], asked, is_base is None)
    if result is not None:
        growth = SizeGrowth(0, 0, 0) if is_base else SizeGrowth(1, 2, 3)
        assert [app.growth_since_base for app in result.apps] == [growth, None]
        assert result.skipped == ("base" if is_base else "own")
    request.is_repeatable = False
    assert whole_run.earlier_run(request, BASE, ()) == (None, None)


@pytest.mark.parametrize("own", [[], [("a", "t", "tools")]])
@pytest.mark.parametrize("other", [[], ["pair"]])
def test_terms_are_those_of_the_apps_that_there_are(
    monkeypatch: pytest.MonkeyPatch, own: list[Any], other: list[str]
) -> None:
    """Those before and after a run do not have the reads that it learns."""
    for name, answer in {
        "_pairs_with_tools": lambda _: own, "package_lists": lambda: ["packages"],
        "_terms": lambda *_: {"own": 1}, "_waivers": lambda *_: ["waivers"],
        "any_terms": lambda request, packages, *, by_all_files: {"by_all_files": by_all_files},
        "any_references": lambda *_: "references", "content_key": str,
        "known_inputs": lambda *_: "inputs", "present_digest": lambda *_: "builds",
        "_bases": lambda *_: "base", "_creep": lambda *_: "creep",
    }.items():  # fmt: skip
        monkeypatch.setattr(whole_run, name, answer)
    request: Any = SimpleNamespace(other_pairs=lambda: other)
    terms = {
        "own": {"own": 1} if own else {},
        "other": {"by_all_files": True} if other else {},
        "waivers": ["waivers"],
    }
    assert whole_run.terms_key(request, ()) == str(terms)
    told: dict[str, object] = {**terms, "other": {"by_all_files": False} if other else {}}
    if other:
        told["references"] = "references"
    if own:
        told |= {"builds": "builds", "base": "base", "creep": ["creep"]}
    assert inputs_key(request, BASE, ()) == str(told)
    monkeypatch.setattr(whole_run, "known_inputs", lambda *_: None)
    assert (inputs_key(request, BASE, ()) is None) == bool(own)
    monkeypatch.setattr(whole_run, "package_lists", lambda: [])
    assert whole_run.terms_key(request, ()) is None


def test_files_of_a_commit_count_by_their_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    files = SimpleNamespace(entries={"a.c": ("100644", "1f"), "b.c": ("100755", "2e")})
    monkeypatch.setattr(whole_run, "commit_files", lambda root, commit: files)
    request: Any = SimpleNamespace(root=Path())
    assert whole_run._texts(request, "c", ["b.c", "gone.c", "a.c"]) == ["2e", "", "1f"]
