"""Commands that `sizeguard init` proposes: paths that move with the project, Cargo, next steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.builds.sizes import Sizes
from sizeguard.proposals.build_folder import BuildFolder, LinkedFile, Place, shell_words
from sizeguard.proposals.build_systems.cargo import Cargo
from sizeguard.proposals.config_text import config_text
from sizeguard.proposals.proposal import Proposal, ProposedImage


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("/src/a", '"$PWD"/a'),
        ("-DX=/src/a;/src", '-DX="$PWD"\'/a;\'"$PWD"'),
        ("-DF=-I/src/a -L/src/b", '-DF=-I"$PWD"\'/a -L\'"$PWD"/b'),
        ("-isystem/src/x", '-isystem"$PWD"/x'),
        ("-DX=/usr/src/a", "-DX=/usr/src/a"),
        ("../src/a", "../src/a"),
        ("/src/src/a", '"$PWD"/src/a'),
        ("/src2/a", "/src2/a"),
    ],
)
def test_only_paths_below_the_project_move_with_it(word: str, expected: str) -> None:
    assert shell_words([word], Path("/src")) == expected


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        ("target", ""),
        ("sizeguard-build", " --target-dir sizeguard-build"),
        ("out", " --target-dir out"),
    ],
)
def test_cargo_builds_where_the_image_is(folder: str, words: str) -> None:
    build = BuildFolder(Path("/p"), Path("/p/target"), (), {"profile": "release"})
    place = Place(Path("/p"), ".", folder, False)
    made = Cargo().commands(build, place, [LinkedFile(Path("/p/target/release/a"), "a")])
    assert made.build == f"cargo build{words} --release --bin a"


@pytest.mark.parametrize("is_git", [False, True])
def test_the_next_steps_of_init_need_git_only_in_git(is_git: bool) -> None:
    sizes = Sizes(1, 1, 1, 0)
    image = ProposedImage("a", "a", Path("a"), sizes)
    proposal = Proposal(
        Path("/p"), is_git, "Make", (), Path("/p"), "a", "x86_64-linux", "", "make", (image,)
    )
    steps = config_text(proposal).splitlines()[1]
    assert ("sizeguard baseline update --in-place" in steps) != is_git
    assert ("sizeguard gate --in-place" in steps) != is_git
