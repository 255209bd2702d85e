"""The apps, targets, tools and snapshots of a request to the gate."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.base.errors import InputError
from sizeguard.gate import request as module
from sizeguard.gate.request import Request
from sizeguard.projects.project import App
from sizeguard.projects.reader import parse_config

CONFIG = """\
targets:
  x86_64-linux: {linker: lld}
  arm64-macos:
limits: {load: 1 MiB}
apps:
  mlp: {selection: a.yaml, models: [], targets: [x86_64-linux, arm64-macos]}
  other: {image: program, targets: [x86_64-linux]}
"""
ONLY_OTHER = "targets: {x86_64-linux: }\napps: {other: {image: program}}\n"
ONLY_MLP = "targets: {x86_64-linux: }\napps: {mlp: {selection: a.yaml, models: []}}\n"


def request_of(root: Path, text: str = CONFIG, *, in_git: bool = True, **values: Any) -> Request:
    made = Request(root, parse_config(root, text.encode()), **values)
    head = SimpleNamespace(id="4f2a91c") if in_git else None
    made.__dict__["history"] = SimpleNamespace(head=head, is_new=False)
    return made


def named(pairs: Any) -> list[tuple[str, str]]:
    return [(app.name, target.name) for app, target in pairs]


MLP, MACOS, OTHER = ("mlp", "x86_64-linux"), ("mlp", "arm64-macos"), ("other", "x86_64-linux")


@pytest.mark.parametrize(
    ("apps", "targets", "expected"),
    [
        ((), (), [MLP, MACOS, OTHER]),
        (("mlp",), (), [MLP, MACOS]),
        ((), ("x86_64-linux",), [MLP, OTHER]),
        (("other",), ("x86_64-linux",), [OTHER]),
        (("mlp", "other"), ("arm64-macos",), [MACOS]),
    ],
)
def test_a_request_is_for_the_named_apps_on_their_own_targets(
    tmp_path: Path, apps: tuple[str, ...], targets: tuple[str, ...], expected: list[Any]
) -> None:
    request = request_of(tmp_path, apps=apps, targets=targets)
    assert named(request.pairs()) == expected
    assert named(request.selective_pairs()) == [pair for pair in expected if pair != OTHER]
    assert named(request.other_pairs()) == [pair for pair in expected if pair == OTHER]
    assert request.is_whole == (not apps and not targets)


def test_a_request_without_any_pair_is_wrong(tmp_path: Path) -> None:
    request = request_of(tmp_path, apps=("other",), targets=("arm64-macos",))
    with pytest.raises(InputError, match="no requested app is for target arm64-macos"):
        request.pairs()


@pytest.mark.parametrize(
    ("compiler", "linker", "tools"),
    [
        (None, None, (None, "lld")),
        ("clang", None, ("clang", None)),  # another compiler has its own usual linker
        (None, "mold", (None, "mold")),
        ("clang", "mold", ("clang", "mold")),
    ],
)
def test_requested_tools_replace_those_of_targets_that_have_a_choice(
    tmp_path: Path, compiler: str | None, linker: str | None, tools: tuple[str | None, str | None]
) -> None:
    request = request_of(tmp_path, compiler=compiler, linker=linker)
    found = {
        (app.name, target.name): (target.compiler, target.linker) for app, target in request.pairs()
    }
    assert found[MLP] == tools
    assert found[MACOS] == (None, None)
    assert found[OTHER] == (None, "lld")
    only = request_of(tmp_path, ONLY_OTHER, compiler=compiler, linker=linker)
    if not compiler and not linker:
        assert named(only.pairs()) == [OTHER]
        return
    with pytest.raises(InputError, match="--compiler and --linker are for apps of a known runtime"):
        only.pairs()


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        (ONLY_MLP, {}, True),
        (ONLY_MLP, {"in_git": False, "in_place": True}, True),  # its inputs are all known
        (ONLY_OTHER, {}, True),
        (ONLY_OTHER, {"in_place": True}, False),
        (ONLY_OTHER, {"in_git": False}, False),
        (CONFIG, {}, True),
        (CONFIG, {"in_place": True}, False),
        (CONFIG, {"in_git": False}, False),
        (CONFIG, {"in_git": False, "apps": ("mlp",)}, True),
        (ONLY_MLP, {"base_snapshots": {"": Path("s")}}, False),
    ],
)
def test_a_result_is_repeatable_if_all_its_inputs_are_known(
    tmp_path: Path, text: str, values: dict[str, Any], expected: bool
) -> None:
    assert request_of(tmp_path, text, **values).is_repeatable == expected


def test_a_project_has_the_sources_of_its_root(tmp_path: Path) -> None:
    for source, is_own in ((None, True), (tmp_path, True), (tmp_path / "sources", False)):
        assert request_of(tmp_path, source=source).has_own_sources == is_own


@pytest.mark.parametrize("source", [None, Path("sources")])
def test_the_sources_are_those_of_the_root_or_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Path | None
) -> None:
    found = {(tmp_path, None): ("runtime", "tree"), (tmp_path, source): ("another", "given")}
    monkeypatch.setattr(module, "source_tree", lambda *given: found[given])
    request = request_of(tmp_path, source=source)
    assert (request.runtime, request.tree) == found[tmp_path, source]


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("in_git", [True, False])
def test_other_builds_are_of_the_checkout(tmp_path: Path, in_git: bool, in_place: bool) -> None:
    request = request_of(tmp_path, in_git=in_git, in_place=in_place)
    store = SimpleNamespace(folder=tmp_path / "store")
    request.history.place = SimpleNamespace(store=store)  # type: ignore[assignment]
    heads = request.heads
    assert (heads.root, heads.store) == (tmp_path, tmp_path / "store")
    assert (heads.is_git, heads.in_place) == (in_git, in_place)


@pytest.mark.parametrize(
    ("text", "source", "root"),
    [(CONFIG, None, "."), (CONFIG, "s", "s"), (ONLY_OTHER, None, None), (ONLY_OTHER, "s", None)],
)
def test_names_are_those_of_the_sources_if_an_app_has_a_runtime(
    tmp_path: Path, text: str, source: str | None, root: str | None
) -> None:
    made = request_of(tmp_path, text, source=source and tmp_path / source)
    assert made.names.root == (root and tmp_path / root)
    assert made.is_selective == (root is not None)


def test_limits_are_those_of_the_file(tmp_path: Path) -> None:
    request = request_of(tmp_path)
    request.check_limits()
    assert [limit.metric for limit in request.limits] == ["load"]
    wrong = request_of(tmp_path, CONFIG.replace("load:", "laod:"))
    with pytest.raises(InputError, match="laod"):
        wrong.check_limits()


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        (ONLY_OTHER, "", ""),
        (ONLY_OTHER, "other", ""),
        (ONLY_OTHER, "other/x86_64-linux", ""),
        (CONFIG, "other", ""),
        (CONFIG, "mlp/arm64-macos", ""),
        (CONFIG, "", "there are several images"),
        (CONFIG, "mlp", "there are several images"),
        (CONFIG, "mlq", "has no app 'mlq'; did you mean 'mlp'?"),
        (CONFIG, "other/arm64-macos", "has no app and target 'other/arm64-macos'; did you mean"),
    ],
)
def test_a_base_snapshot_is_of_one_image(tmp_path: Path, text: str, name: str, words: str) -> None:
    request = request_of(tmp_path, text, base_snapshots={name: tmp_path / "s"})
    if words:
        with pytest.raises(InputError, match=re.escape(words)):
            request.check_snapshots()
        return
    request.check_snapshots()
    app = App(name.partition("/")[0] or "other", None, (), ())
    target = name.partition("/")[2] or "x86_64-linux"
    assert request.snapshot_of(app, target) == tmp_path / "s"


def test_the_most_exact_name_of_a_snapshot_counts(tmp_path: Path) -> None:
    given = {name: tmp_path / (name.replace("/", ".") or "all") for name in ("", "a", "a/t")}
    request = request_of(tmp_path, base_snapshots=given)
    found = [
        request.snapshot_of(App(app, None, (), ()), target)
        for app, target in (("a", "t"), ("a", "u"), ("b", "t"))
    ]
    assert found == [tmp_path / name for name in ("a.t", "a", "all")]
    del given[""]
    assert (
        request_of(tmp_path, base_snapshots=given).snapshot_of(App("b", None, (), ()), "t") is None
    )


@pytest.mark.parametrize("entry", ["{max_size: lots}", "{max_age: 1 year}", "{max_size: 3}"])
def test_a_wrong_limit_of_the_store_is_an_error_before_anything_is_built(
    tmp_path: Path, entry: str
) -> None:
    request = request_of(tmp_path, f"store: {entry}\n{ONLY_OTHER}")
    with pytest.raises(InputError, match=r"^sizeguard\.yaml:1:8: '"):
        request.check_limits()
    request_of(tmp_path, f"store: {{max_size: 3 MiB, max_age: 1 week}}\n{ONLY_OTHER}")
