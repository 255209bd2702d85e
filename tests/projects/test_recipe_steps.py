"""Recipes of other projects: which steps run, and what is kept of a build, without a build."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.base.errors import BuildError
from sizeguard.builds import RECORD
from sizeguard.git.trees import Reads
from sizeguard.projects import any_build
from sizeguard.projects.any_build import AnyBuildRecipe
from sizeguard.projects.gathering import gathered
from sizeguard.projects.project import BuildSteps, ImageFiles
from sizeguard.toolchains.read_files import ReadFiles
from sizeguard.toolchains.recipe import DoesNotBuildError, Limits
from tests.support.tricks.made_recipe import FILES, RECIPE, STEPS

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
