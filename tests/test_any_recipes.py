"""Recipes of other projects: what their keys have, and which steps run, without a build."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.base.errors import BuildError
from sizeguard.builds import RECORD
from sizeguard.git.trees import Reads, Scope
from sizeguard.git.worktrees import EVERYTHING
from sizeguard.projects import any_build
from sizeguard.projects.any_build import AnyBuildRecipe
from sizeguard.projects.gathering import gathered
from sizeguard.projects.project import BuildSteps, ImageFiles
from sizeguard.toolchains.read_files import ReadFiles
from sizeguard.toolchains.recipe import DoesNotBuildError, Limits

FILES = ImageFiles("app")
STEPS = BuildSteps({"": FILES}, "make")
RECIPE = AnyBuildRecipe("a", "t", STEPS)


def test_recipes_share_no_key_of_a_run(tmp_path: Path) -> None:
    """History keeps keys by identity."""
    others = [
        replace(RECIPE, app="b"), replace(RECIPE, target="u"), replace(RECIPE, group="g"),
        replace(RECIPE, image="i"), replace(RECIPE, store=tmp_path),
        replace(RECIPE, by_all_files=True), replace(RECIPE, with_links=False),
        replace(RECIPE, apart=("b",)), replace(RECIPE, steps=replace(STEPS)),
        replace(RECIPE, reads=Reads(frozenset({"a.c"}))),
    ]  # fmt: skip
    assert len({each.identity for each in (RECIPE, *others)}) == len(others) + 1
    assert RECIPE.identity == replace(RECIPE).identity


def test_a_recipe_has_the_reads_that_it_is_fixed_to(tmp_path: Path) -> None:
    recipe: Any = replace(RECIPE, store=tmp_path)
    unknown = recipe.as_known
    assert (unknown.is_fixed, unknown.by_all_files, unknown._reads) == (True, True, None)
    recipe._known_reads.add(ReadFiles(frozenset({"a.c"})))
    known = recipe.as_known
    assert known._reads == Reads(frozenset({"a.c"})) == recipe._reads
    assert (unknown._reads, recipe.without_store._reads) == (None, None)
    assert (recipe.unwatched.by_all_files, recipe.unwatched._reads) == (True, recipe._reads)
    assert not known.without_store.is_fixed
    recipe.forget_reads()
    assert (recipe._reads, known._reads) == (None, Reads(frozenset({"a.c"})))
    RECIPE.forget_reads()  # nothing is known of it
    assert replace(recipe, steps=replace(STEPS, clean="make clean"))._known_reads is None


def test_variables_have_the_values_of_the_configuration_or_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GIVEN", "caller")
    monkeypatch.setenv("MINE", "caller")
    monkeypatch.delenv("UNSET", raising=False)
    steps = replace(STEPS, env={"MINE": "mine", "GIVEN": None, "UNSET": None})
    recipe = replace(RECIPE, steps=steps)
    assert recipe._given() == {"MINE": "mine", "GIVEN": "caller"}
    assert recipe._recorded().items() >= recipe._given().items()
    assert "UNSET" not in recipe._recorded()


def test_a_setup_is_that_of_an_app_of_all_its_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(any_build, "setup_key", lambda *told: told[:3])
    one, image = RECIPE, replace(RECIPE, app="a.x", group="a")
    keys: list[Any] = [each._setup_key() for each in (one, image)]
    assert keys == [("a", "t", STEPS)] * 2
    twin = replace(RECIPE, app="c.y", group="c")
    recipe = replace(RECIPE, app="b.x", group="b", twins=(twin, RECIPE))
    assert recipe.build_name == "a, b, c for t"
    assert recipe.text == "b.x for t by make"


Calls = list[str]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Replace all that builds, reads the repository or writes; return the calls in order."""
    made: Calls = []

    def called(name: str, answer: object = None) -> None:
        def call(*arguments: object, **_: object) -> object:
            made.append(name)
            return answer

        monkeypatch.setattr(any_build, name, call)

    for name in ("note_other_inputs", "begin_now", "remove_outputs", "note_setup", "check_made"):
        called(name)
    for name in ("note_shipped", "watch_git"):
        called(name)
    called("read_since", ReadFiles(frozenset({"read.c"})))
    called("outside_files", frozenset({"out.c"}))
    called("watch", True)
    called("differing", [])
    called("is_as_noted", True)
    monkeypatch.setattr(
        AnyBuildRecipe, "_run", lambda self, command, *_: made.append(command or "nothing")
    )
    monkeypatch.setattr(AnyBuildRecipe, "_setup_key", lambda self: "setup")
    monkeypatch.setattr(AnyBuildRecipe, "gathered", lambda *_: Path("made"))
    return made


@pytest.fixture
def tree(tmp_path: Path) -> Any:
    """A worktree that has records of an earlier build's links, and one of its setup."""
    (tmp_path / "links").mkdir()
    (tmp_path / "setup").write_text("")
    return SimpleNamespace(
        path=tmp_path, repository=tmp_path, setup=tmp_path / "setup", made=tmp_path / "made",
        clean=lambda: (tmp_path / "cleaned").write_text(""),
    )  # fmt: skip


ALL = replace(STEPS, setup="setup", clean="clean", run="run")
LIMITS = Limits()


def built(recipe: AnyBuildRecipe, tree: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(any_build, "records_of_tree", lambda tree: tree.path / "links")
    assert recipe.build(tree, "c" * 40, LIMITS) == Path("made")
    assert not (tree.path / "links" / "old").exists()


def test_a_kept_build_is_cleaned_and_another_one_begins_anew(
    calls: Calls, tree: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = replace(RECIPE, steps=ALL)
    (tree.path / "links" / "old").write_text("of the last build")
    built(recipe, tree, monkeypatch)
    assert calls == [
        "note_other_inputs", "is_as_noted", "begin_now", "clean", "remove_outputs", "make",
    ]  # fmt: skip
    assert not (tree.path / "cleaned").exists()
    for is_set_up in (True, False):
        calls.clear()
        monkeypatch.setattr(any_build, "is_as_noted", lambda *_: False)
        assert tree.setup.exists() == is_set_up
        built(recipe, tree, monkeypatch)
        assert not tree.setup.exists()
        assert calls == [
            "note_other_inputs", "watch", "setup", "read_since", "note_setup", "make", "differing",
        ]  # fmt: skip
    assert (tree.path / "cleaned").exists()


@pytest.mark.parametrize("is_watched", [True, False])
def test_a_setup_is_noted_with_its_reads_if_they_were_watched(
    calls: Calls, tree: Any, monkeypatch: pytest.MonkeyPatch, is_watched: bool
) -> None:
    noted: list[object] = []
    for name in ("note_other_inputs", "note_setup"):
        monkeypatch.setattr(any_build, name, lambda *told: noted.append(told[-1]))
    monkeypatch.setattr(any_build, "watch", lambda _: is_watched)
    monkeypatch.setattr(any_build, "is_as_noted", lambda *_: False)
    recipe = replace(RECIPE, steps=ALL, reads=Reads(frozenset({"a.c"})))
    built(recipe, tree, monkeypatch)
    assert noted == [None, ReadFiles(frozenset({"read.c"})) if is_watched else None]
    noted.clear()
    built(replace(recipe, steps=STEPS), tree, monkeypatch)
    assert noted == [recipe.reads]


@pytest.mark.parametrize("is_watched", [True, False])
@pytest.mark.parametrize("has_store", [True, False])
def test_the_reads_of_a_build_are_kept_with_those_outside(
    calls: Calls, tree: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_watched: bool,
    has_store: bool,
) -> None:  # fmt: skip
    monkeypatch.setattr(any_build, "watch", lambda _: is_watched)
    recipe = replace(RECIPE, store=tmp_path / "store" if has_store else None)
    built(recipe, tree, monkeypatch)
    found = recipe._reads
    if has_store and is_watched:
        assert found == Reads(frozenset({"read.c", "out.c"}))
    else:
        assert found == (Reads(frozenset(), unwatchable=True) if has_store else None)
    assert ("begin_now" in calls) != (has_store and is_watched)
    # Also those of a build that fails
    monkeypatch.setattr(AnyBuildRecipe, "_build", lambda *_: failed())
    monkeypatch.setattr(any_build, "read_since", lambda _: ReadFiles(frozenset({"more.c"})))
    with pytest.raises(DoesNotBuildError):
        recipe.build(tree, "c" * 40, LIMITS)
    if has_store and is_watched:
        assert recipe._reads == Reads(frozenset({"read.c", "out.c", "more.c"}))


def failed() -> None:
    raise DoesNotBuildError("failed")


def test_a_build_that_reads_a_changed_file_of_the_checkout_has_no_size(
    calls: Calls, tree: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(any_build, "differing", lambda *_: ["a.c"])
    with pytest.raises(BuildError, match=r"the commands read a\.c in the checkout, .*cccccccccc,"):
        built(RECIPE, tree, monkeypatch)


@pytest.mark.parametrize("error", ["", "exit status 1"])
@pytest.mark.parametrize("has_store", [True, False])
def test_the_reads_of_a_run_count_too(
    calls: Calls, tree: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: str,
    has_store: bool,
) -> None:  # fmt: skip
    recipe = replace(RECIPE, steps=ALL, store=tmp_path / "store" if has_store else None)
    recipe = replace(recipe, steps=replace(ALL, clean=""))
    assert replace(recipe, steps=STEPS).run_after(tree, LIMITS) == ""
    assert calls == []

    def run(self: AnyBuildRecipe, command: str, *_: object) -> None:
        assert self.store is None  # without our library
        calls.append(command)
        if error:
            raise BuildError(error)

    monkeypatch.setattr(AnyBuildRecipe, "_run", run)
    assert recipe.run_after(tree, LIMITS) == error
    assert calls == ["watch_git", "run", *(["read_since"] if has_store else [])]
    assert recipe._reads == (Reads(frozenset({"read.c"})) if has_store else None)


def test_other_images_of_a_build_are_gathered_if_they_are_there(
    calls: Calls, tree: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = BuildSteps({name: ImageFiles(f"{name}.elf") for name in "xyz"}, "make")
    lost, twin = replace(RECIPE, app="lost"), replace(RECIPE, app="twin")
    recipe = AnyBuildRecipe("a.x", "t", steps, "a", "x", twins=(lost, twin), apart=("y.elf",))

    def made(self: AnyBuildRecipe, *_: object) -> Path:
        if self.app == "lost":
            raise DoesNotBuildError("no image")
        return Path(self.app)

    monkeypatch.setattr(AnyBuildRecipe, "gathered", made)
    found = [(each.app, each.image, each.apart) for each, _ in recipe.also_built(tree, "c")]
    assert found == [
        ("a.y", "y", ("x.elf",)),
        ("a.z", "z", ("x.elf", "y.elf")),
        ("twin", "", ()),
    ]


def hashed(name: str) -> Callable[..., str]:
    return lambda repository, commit, scope, *_: f"{name} {scope.paths or 'all'}"


@pytest.mark.parametrize(
    ("filters", "more", "reads", "expected"),
    [
        ("", {}, None, "tree all"),  # no build has shown its reads
        ("", {}, Reads(frozenset()), "reads ('src',)"),
        ("", {"by_all_files": True}, Reads(frozenset()), "opened ('src',)"),
        ("", {"steps": "clean"}, Reads(frozenset()), "tree ('src',)"),
        ("own", {}, Reads(frozenset()), "tree all and own"),
        ("own", {"steps": "clean"}, None, "tree all and own"),
    ],
)
def test_the_files_that_decide_are_those_that_builds_may_read(
    monkeypatch: pytest.MonkeyPatch, filters: str, more: dict[str, Any], reads: Reads | None,
    expected: str,
) -> None:  # fmt: skip
    for name in ("tree", "reads", "opened"):
        monkeypatch.setattr(any_build, f"{name}_hash", hashed(name))
    monkeypatch.setattr(any_build, "own_filters", lambda *_: filters)
    monkeypatch.setattr(any_build, "fingerprint", lambda told: " and ".join(told.values()))
    steps = replace(STEPS, inputs=("src",), clean=more.pop("steps", ""))
    recipe = replace(RECIPE, steps=steps, reads=reads, **more)
    assert recipe._tree_hash(Path(), "c") == expected


@pytest.mark.parametrize(
    ("strip", "counts"),
    [("", False), ("strip", False), ("/usr/bin/strip", False), ("tools/strip.sh", True)],
)
def test_a_program_of_the_project_that_strips_is_an_input(
    monkeypatch: pytest.MonkeyPatch, strip: str, counts: bool
) -> None:
    monkeypatch.setattr(any_build, "tree_hash", hashed("tree"))
    recipe = replace(RECIPE, steps=BuildSteps({"": ImageFiles("app", strip=strip)}, "make"))
    assert recipe._stripping(Path(), "c") == ({"strips": "tree all"} if counts else {})


def test_the_key_has_rules_and_scope_of_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, answer in {
        "scope_of_commit": lambda repository, commit, app, target: f"{app} {target}",
        "tools_of": lambda repository, commit, told: "tools", "package_lists": lambda: [],
        "own_filters": lambda *_: "", "tree_hash": hashed("tree"),
    }.items():  # fmt: skip
        monkeypatch.setattr(any_build, name, answer)
    key = RECIPE.key(Path(), "c", 9)
    assert (key["scope"], key["tree"]) == ("a t", "tree all")
    assert replace(RECIPE, app="a.x", group="a").key(Path(), "c", 9) == key
    ruled = replace(RECIPE, steps=replace(STEPS, rules="a: b")).key(Path(), "c", 9)
    assert ruled == {**key, "rules": "a: b"}
    assert replace(RECIPE, with_links=False).key(Path(), "c", 9) == {**key, "links": "none"}


def test_a_commit_with_other_commands_has_reads_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    steps, apart = [STEPS], [tuple[str, ...]()]
    monkeypatch.setattr(any_build, "steps_of_commit", lambda *_: steps[-1])
    monkeypatch.setattr(any_build, "images_apart", lambda *_: apart[-1])
    twin = replace(RECIPE, app="b")
    recipe = replace(RECIPE, store=tmp_path, twins=(twin,), reads=Reads(frozenset()))
    assert recipe.at(Path(), "c") is recipe
    apart.append(("b",))
    other = recipe.at(Path(), "c")
    assert (other.apart, other.twins, other.reads) == (("b",), (), recipe.reads)
    steps.append(replace(STEPS, build="make all"))
    own = recipe.at(Path(), "c")
    assert (own.steps, own.twins, own.reads, own.is_fixed) == (steps[-1], (), None, False)
    fixed = replace(recipe, is_fixed=True).at(Path(), "c")
    assert (fixed.is_fixed, fixed.by_all_files, fixed.reads) == (True, True, None)


@pytest.mark.parametrize(
    ("asked", "used", "timeout", "option"),
    [
        (None, 0, 60, "timeout in sizeguard.yaml"),
        (90, 0, 60, "timeout in sizeguard.yaml"),
        (60, 0, 60, "--timeout"),
        (30, 0, 30, "--timeout"),
        (30, 40, 60, "timeout in sizeguard.yaml"),  # 20 s are left
    ],
)
def test_the_shorter_of_two_limits_ends_a_command(
    monkeypatch: pytest.MonkeyPatch, asked: float | None, used: float, timeout: float, option: str
) -> None:
    given: list[Limits] = []
    for name in ("ccache_path", "own_command", "other_inputs"):
        monkeypatch.setattr(any_build, name, lambda *_: {})
    monkeypatch.setattr(any_build, "run_logged", lambda *told: given.append(told[3]))
    monkeypatch.setattr(time, "monotonic", lambda: 100 + used)
    recipe = replace(RECIPE, steps=replace(STEPS, timeout=60))
    tree: Any = None
    for command in ("", "make"):
        recipe._run(command, tree, Limits(timeout=asked), 100)
    (limits,) = given
    assert (limits.timeout, limits.timeout_option) == (timeout, option)
    assert limits.used == (used if timeout == 60 and option != "--timeout" else 0)


def test_commands_get_jobs_variables_and_the_watch_of_git(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given: list[dict[str, str]] = []
    for name, answer in {
        "ccache_path": {"CCACHE": "1"}, "own_command": {}, "other_inputs": {"OTHER": "1"},
        "git_watch": {"GIT": "1"}, "build_environment": {"PATH": "/bin"},
    }.items():  # fmt: skip
        monkeypatch.setattr(any_build, name, lambda *_, answer=answer: answer)
    monkeypatch.setattr(any_build, "run_logged", lambda *told: given.append(told[2]))
    tree: Any = SimpleNamespace(repository=tmp_path, path=tmp_path)

    def run(recipe: AnyBuildRecipe, command: str, recording: Any = None) -> dict[str, str]:
        recipe._run(command, tree, Limits(jobs=3), 0, recording)
        return given.pop()

    steps = replace(STEPS, setup="configure", clean="clean", env={"MINE": "mine"})
    kept, stored = replace(RECIPE, steps=steps), replace(RECIPE, store=tmp_path)
    found = run(kept, "make")
    names = ("CCACHE", "OTHER", "MINE", "CMAKE_BUILD_PARALLEL_LEVEL", "GIT")
    assert [found.get(name) for name in names] == ["1", "1", "mine", "3", None]
    # Those of a setup are watched, since it is kept, and those that decide between commits
    assert [run(recipe, command).get("GIT") for recipe, command in (
        (kept, "configure"), (kept, "clean"), (stored, "make"), (RECIPE, "make"),
    )] == ["1", None, "1", None]  # fmt: skip
    own = replace(STEPS, env={"CMAKE_BUILD_PARALLEL_LEVEL": "1"})
    assert run(replace(RECIPE, steps=own), "make")["CMAKE_BUILD_PARALLEL_LEVEL"] == "1"
    recording = SimpleNamespace(environment=lambda told: {"RECORDED": told["CCACHE"]})
    assert run(RECIPE, "make", recording) == {"RECORDED": "1"}


@pytest.mark.parametrize("with_links", [True, False])
def test_an_image_is_gathered_if_this_build_made_it(
    tree: Any, monkeypatch: pytest.MonkeyPatch, with_links: bool
) -> None:
    made: list[Any] = []
    monkeypatch.setattr(any_build, "check_made", lambda *told: made.append(told[2]))
    monkeypatch.setattr(any_build, "note_shipped", lambda tree, folder: made.append(folder))
    monkeypatch.setattr(AnyBuildRecipe, "key", lambda self, *told: {"told": str(told[1:])})
    links = tree.path / "links"
    monkeypatch.setattr(any_build, "records_of_tree", lambda tree: links)
    monkeypatch.setattr(gathered, "gather", lambda *told: made.append(told))
    recipe = replace(RECIPE, with_links=with_links, apart=("b",))
    assert recipe.gathered(tree, "c") == tree.made / "a" / RECORD
    checked, (path, image, folder, records), noted = made
    assert (checked, noted, folder, path) == (FILES, tree.made / "a", tree.made / "a", tree.path)
    assert records == (links if with_links else None)
    assert (image.apart, image.fingerprint) == (("b",), recipe.fingerprint(tree, "c"))
    assert len(image.fingerprint) == 64

    def refuses(*_: object) -> None:
        raise DoesNotBuildError("app is of another build")

    monkeypatch.setattr(any_build, "check_made", refuses)
    with pytest.raises(DoesNotBuildError, match="of another build"):
        recipe.gathered(tree, "c")
    assert len(made) == 3


def test_a_scope_without_files_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    scopes: list[Scope] = []
    monkeypatch.setattr(any_build, "check_scope", lambda *told: scopes.append(told[2]))
    replace(RECIPE, steps=replace(STEPS, inputs=("a",), ignore=("b",))).check(Path(), "c")
    ((paths, ignore, unnamed),) = ((each.paths, each.ignore, each.unnamed) for each in scopes)
    assert (paths, ignore) == (("a",), ("b",))
    assert "sizeguard.yaml" in unnamed


def test_a_worktree_is_kept_if_a_command_cleans_it() -> None:
    assert RECIPE.kept_folders == ()
    assert replace(RECIPE, steps=ALL).kept_folders == EVERYTHING
