"""Keys of commits: what a build reads, its selection, and the options of its target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from sizeguard.base.errors import InputError
from sizeguard.builds.build_inputs import BuildInputs
from sizeguard.git.trees import Scope, check_scope, tree_hash
from sizeguard.runtimes.sizeguard.building.commit_config import selection_in, target_in
from sizeguard.runtimes.sizeguard.building.commit_inputs import runtime_hash
from sizeguard.runtimes.sizeguard.building.native_recipe import RuntimeRecipe, _elsewhere
from sizeguard.snapshots.store import content_key
from sizeguard.toolchains.toolchain import Toolchain, find_toolchain
from tests.support.histories.small_history import SmallRepository
from tests.support.tricks.any_project import made_project


def test_hashes_of_commits_tell_what_a_build_reads(tmp_path: Path) -> None:
    repository = SmallRepository(tmp_path / "r")
    first = repository.commit("one", {"size.txt": "1", "README.md": "a", "src/a.c": "int a;"})
    docs = repository.commit("docs", {"README.md": "b"})
    code = repository.commit("code", {"src/a.c": "int b;"})
    back = repository.commit("back", {"src/a.c": "int a;", "README.md": "a"})
    root = repository.path
    everything = [tree_hash(root, each, Scope()) for each in (first, docs, code, back)]
    assert len(set(everything)) == 3
    assert everything[0] == everything[3]
    inputs = [
        tree_hash(root, each, Scope(("src", "size.txt"))) for each in (first, docs, code, back)
    ]
    assert inputs[0] == inputs[1] == inputs[3] != inputs[2]
    ignoring = [
        tree_hash(root, each, Scope(ignore=("*.md",))) for each in (first, docs, code, back)
    ]
    assert ignoring[0] == ignoring[1] == ignoring[3] != ignoring[2]
    with pytest.raises(InputError, match="leave no file"):
        check_scope(root, first, Scope(("srcs",)))
    for outside in ("/etc", "../x", "a/../../b"):
        with pytest.raises(InputError, match="from its root"):
            tree_hash(root, first, Scope((outside,)))


def test_the_runtimes_hash_knows_code_from_data(tmp_path: Path) -> None:
    repository = SmallRepository(tmp_path / "r")
    selection = "native/apps/vision/selected_operators.yaml"
    base = {
        "native/CMakeLists.txt": "x",
        "native/runtime/a.cpp": "a",
        selection: "operators: {}",
        "native/models/m/model.pt2": "m",
        "README.md": "words",
        "sizeguard/y.py": "y",
    }
    first = repository.commit("one", base)

    def changed(path: str) -> bool:
        commit = repository.commit(path, {path: "changed"})
        answer = runtime_hash(repository.path, commit, selection) != runtime_hash(
            repository.path, first, selection
        )
        repository.git("reset", "-q", "--hard", first)
        return answer

    reads = (
        "native/runtime/a.cpp",
        "native/runtime/new.h",
        "native/CMakeLists.txt",
        selection,
        "native/apps/app.cpp",
        "native/new/x.cpp",
        "native/runtime/table.inc",
        "native/runtime/vector",
        "vector",  # precedes the compiler's own header in the include path
        "stdint.h",
        "extra/x",  # a build may have looked for the folder
    )
    leaves = (
        "README.md",
        "native/README.md",
        "native/models/m/model.pt2",
        "native/apps/language/selected_operators.yaml",
        "sizeguard/x.py",
    )
    assert [path for path in reads if not changed(path)] == []
    assert [path for path in leaves if changed(path)] == []
    elsewhere = repository.commit("elsewhere", {"selection.yaml": "a"})
    other = repository.commit("other", {"selection.yaml": "b"})
    assert runtime_hash(repository.path, elsewhere, "selection.yaml") != runtime_hash(
        repository.path, other, "selection.yaml"
    )
    assert runtime_hash(repository.path, elsewhere, selection) == runtime_hash(
        repository.path, other, selection
    )
    assert runtime_hash(repository.path, elsewhere, "") == runtime_hash(repository.path, other, "")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("apps:\n  vision:\n    selection: a/b.yaml\n", "a/b.yaml"),
        ("apps:\n  vision:\n    selection: ./a//b.yaml\n", "a/b.yaml"),
        ("apps:\n  vision:\n    selection: /etc/passwd\n", None),
        ("apps:\n  vision:\n    selection: ../x\n", None),
        ("apps: [1]\n", None),
        ("apps: &a {vision: *a}\n", None),
        ("limits: &l {}\ngrowth: *l\napps:\n  vision: {selection: a/b.yaml}\n", "a/b.yaml"),
        ("#" * (1 << 20) + "\napps:\n  vision: {selection: a/b.yaml}\n", "a/b.yaml"),
        ("apps:\n  vision: {selection: 1}\n", "1"),
        ("apps:\n  vision: {selection: ~}\n", None),
        ("[" * 5000, None),
        (": :", None),
        ("", None),
    ],
)
def test_the_selection_of_an_app_in_a_commit(text: str, path: str | None) -> None:
    assert selection_in(text.encode(), "vision") == path
    assert selection_in(text.encode("utf-16"), "vision") == path


@pytest.mark.parametrize("app", ["7", "yes", "1.5", "null"])
def test_an_app_may_be_called_like_a_number(app: str) -> None:
    text = f"apps:\n  {app}: {{selection: a/b.yaml}}\n"
    assert selection_in(text.encode(), app) == "a/b.yaml"


LEVEL = "targets:\n  linux: {machine: x86_64-linux, optimize: '2'}\n"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (LEVEL, {"machine": "x86_64-linux", "optimize": "2"}),
        ("targets: {linux: }\n", {}),
        ("targets: {linux: {optimize: ~}}\n", {}),
        ("targets: {other: }\n", None),
        ("targets: [linux]\n", None),
        ("apps: {}\n", None),
        ("[" * 5000, None),
    ],
)
def test_the_options_of_a_target_in_a_commit(text: str, options: Mapping[str, str] | None) -> None:
    assert target_in(text.encode(), "linux") == options


@pytest.mark.native
def test_each_commit_is_built_with_its_own_level_and_tools(tmp_path: Path) -> None:
    """Otherwise growth by another level of optimization would be 0: both sides had it."""
    changes = {"none": "", "level": LEVEL, "usual": "targets: {linux: {machine: x86_64-linux}}\n"}
    changes["lto"] = "targets: {linux: {machine: x86_64-linux, lto: full}}\n"
    changes["compiler"] = "targets: {linux: {machine: x86_64-linux, compiler: nocc}}\n"
    project = made_project(tmp_path / "p", "", {"a": ""})
    ids = {}
    for name, text in changes.items():
        (project.root / "sizeguard.yaml").write_text(f"# {name}\n{text}")
        ids[name] = project.commit(name)
    tools = find_toolchain(None, None, "x86_64-linux")
    recipe = RuntimeRecipe(tools, "vision", target="linux")
    at = {name: recipe.at(project.root, commit) for name, commit in ids.items()}
    assert at["none"] == at["usual"] == recipe
    assert at["level"] == replace(recipe, optimize="2")
    assert "lto: full" in at["lto"].refused
    assert "unknown compiler nocc" in at["compiler"].refused
    keys = {content_key(each.key(project.root, ids["none"], 0)) for each in at.values()}
    assert len(keys) == 4
    alike = RuntimeRecipe(tools, "vision")
    assert alike.at(project.root, ids["level"]) == alike


@pytest.mark.parametrize(
    ("place", "flags", "counts"),
    [("native/a.cmake", "", True), ("a.cmake", "", False), ("a.cmake", "-march=native", True)],
)
def test_the_processor_counts_for_our_code_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, flags: str, *, counts: bool
) -> None:
    """Machines that share a store may have other processors."""
    monkeypatch.setenv("CXXFLAGS", flags)
    project = made_project(tmp_path / "p", "", {"native/a.cmake": "", place: "# -march=native\n"})
    tools = Toolchain("gcc", "bfd", "x86_64-linux", "gcc", "g++", "12.2.0", "2.40")
    key = RuntimeRecipe(tools, "vision").key(project.root, "HEAD", 0)
    assert ("processor" in key) is counts


def test_a_policy_behind_a_link_names_the_selection(tmp_path: Path) -> None:
    text = "apps:\n  vision: {selection: a/b.yaml}\n"
    project = made_project(tmp_path / "p", "", {"terms/policy.yaml": text})
    (project.root / "sizeguard.yaml").unlink()
    (project.root / "sizeguard.yaml").symlink_to("terms/policy.yaml")
    tools = Toolchain("gcc", "bfd", "x86_64-linux", "gcc", "g++", "12.2.0", "2.40")
    recipe = RuntimeRecipe(tools, "vision")
    assert recipe.selection(project.root, project.commit("A link")) == "a/b.yaml"


def test_a_selection_behind_a_link_leads_out_of_the_key(tmp_path: Path) -> None:
    (tmp_path / "selections").mkdir()
    (tmp_path / "selections/vision.yaml").touch()
    (tmp_path / "s.yaml").symlink_to("selections/vision.yaml")
    inputs = BuildInputs({f"{tmp_path}/s.yaml": "1"}, {}, environment={})
    assert _elsewhere(inputs, tmp_path, "s.yaml") == "selections/vision.yaml"
