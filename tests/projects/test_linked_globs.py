"""Patterns of files that ship, behind links to folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.projects.gathering.linked_globs import files_matching


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A link to a folder beside its own, and links up, to itself and out of the tree."""
    root = tmp_path / "tree"
    for name in ("out/a.so", "out/lib/b.so", "real/c.so", "real/deep/d.so", "e.so"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x.so").touch()
    for link, to in (("plugins", "../real"), ("up", ".."), ("self", "."), ("out", "../../other")):
        (root / "out" / link).symlink_to(to)
    return root


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("out/**/*.so", {"a.so", "b.so", "c.so", "d.so", "e.so"}),
        ("out/*/*.so", {"a.so", "b.so", "c.so", "e.so", "x.so"}),
        ("**/plugins/*.so", {"c.so"}),
        ("**/plugins/**/*.so", {"c.so", "d.so"}),
        ("real/**", set()),
        ("real/deep/d.so", {"d.so"}),
        ("**/**/d.so", {"d.so"}),
        ("./**/d.so", {"d.so"}),
        ("out//lib/./b.so", {"b.so"}),
        ("**/", set()),
        ("none/**/*.so", set()),
    ],
)
def test_files_behind_links_match(tree: Path, pattern: str, expected: set[str]) -> None:
    """A folder that a change replaced by a link took its libraries out of the sizes."""
    found = files_matching(tree, pattern)
    assert {path.name for path in found} == expected
    assert found == sorted(found)


@pytest.mark.parametrize("pattern", ["**/*.so", "out/**/*.so", "real/**/d.so", "**/deep/*", "*/*"])
def test_without_links_it_is_the_glob_of_pathlib(tree: Path, pattern: str) -> None:
    for link in ("plugins", "up", "self", "out"):
        (tree / "out" / link).unlink()
    expected = sorted(path for path in tree.glob(pattern) if path.is_file())
    assert files_matching(tree, pattern) == expected != []
