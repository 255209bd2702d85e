"""Commits and parts of the gate that answer as a test says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sizeguard.base.errors import InputError
from sizeguard.gate.gate_result import REVIEWED, Base
from sizeguard.gate.policy.checks import SizeReference
from sizeguard.gate.reference.reference import MeasuredApp
from sizeguard.projects.project import App

HEAD, COMMIT, PARENT_OF_IT = "h" * 40, "b" * 40, "p" * 40
BASE = Base(COMMIT, "main")
ON_BASE = Base(HEAD, "main")
NOW: Any = "now"
REVIEWED_SIZES: Any = "baseline"
KNOWN = SizeReference(REVIEWED, REVIEWED_SIZES)
NO_BASELINE = SizeReference(REVIEWED, None, "there is no baseline")


@dataclass
class Commits:
    """A history: what differs from the checkout, and what measuring a commit gives."""

    root: Path
    head: Any = field(default_factory=lambda: SimpleNamespace(id=HEAD))
    why_no_head: str = "there is no commit yet"
    keys: dict[str, str] = field(default_factory=dict)
    made: dict[str, Any] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=lambda: {HEAD: PARENT_OF_IT})
    texts: dict[str, bytes] = field(default_factory=dict)
    is_cut: bool = False
    may_have_commits: bool = False
    kept: list[tuple[str, Mapping[str, object], object]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    recipes: dict[str, object] = field(default_factory=dict)
    without_app: bool = False

    @property
    def place(self) -> Any:
        return SimpleNamespace(store=SimpleNamespace(facts=lambda key: self.made.get(key)))

    def key(self, commit: str, recipe: object) -> str:
        return self.keys.get(commit, "same")

    def recipe_at(self, commit: str, recipe: object) -> object:
        return self.recipes.get(commit, recipe)

    def lacks_app(self, commit: str, app: str) -> bool:
        return self.without_app

    def first_parent(self, commit: str) -> str:
        return self.parents.get(commit, "")

    def lacks_parents(self, commit: str) -> bool:
        return self.is_cut

    def commit(self, revision: str) -> Any:
        if revision == "v9":
            raise InputError("unknown")
        return SimpleNamespace(id=COMMIT)

    def measure(self, commit: str, recipe: object, tools: str) -> Any:
        self.asked.append(commit)
        found = self.made.get(commit, f"measured {commit[:1]}")
        if isinstance(found, Exception):
            raise found
        return SimpleNamespace(analysis=found)

    def has_bytes(self, commit: str, path: str, data: bytes) -> bool:
        return self.texts.get(commit) == data

    def text_at(self, commit: str, path: str) -> bytes | None:
        return self.texts.get(f"{commit}:{path}", self.texts.get(commit))


@dataclass
class World:
    """Parts of the gate that need files."""

    root: Path
    history: Any
    differing: dict[str, list[str]] = field(default_factory=dict)
    foreign: list[str] = field(default_factory=list)
    measured: set[str] = field(default_factory=set)
    reviewed: SizeReference = KNOWN
    has_baseline: bool = True
    others: list[str] = field(default_factory=list)
    changed: bool = False


def subject_of(**changed: Any) -> MeasuredApp:
    """Return an app of a known runtime, whose build read files."""
    build: Any = SimpleNamespace(inputs="read", link="executable", lto="", tools="", rules="")
    recipe: Any = SimpleNamespace(left_out=lambda *_: "")
    tree: Any = SimpleNamespace(generates=lambda path: path.startswith("code/"))
    made = MeasuredApp(App("a", None, (), ()), "t", build, None, NOW, (), tree, recipe)
    return replace(made, **changed)


def any_build(**changed: Any) -> MeasuredApp:
    """Return an app of another project, whose only inputs are the files of HEAD."""
    build: Any = SimpleNamespace(inputs=None, link="", lto="", tools="", rules="")
    return subject_of(**{"build": build, "tree": None, "head": HEAD, **changed})
