"""Test which claims are listed for a build: by its record, its selection and the full build.

The build is a recorded one, with edited records.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from sizeguard.base.errors import InputError
from sizeguard.builds.build_record import Build, read_build
from sizeguard.builds.open_build import Files
from sizeguard.claims.claim import Claim
from sizeguard.claims.listed_names import BuildNames
from sizeguard.claims.verdict import ABSENT, PRESENT
from sizeguard.gate import verified_builds
from sizeguard.gate.cache.requested_claims import RequestedClaims
from sizeguard.gate.verified_builds import ListedClaims, list_claims
from sizeguard.selection.selection import SelectedOperator, Selection
from sizeguard.verify.evidence.gather_evidence import gather
from tests.support.builds.recorded_builds import RecordedRuntime, recorded_runtime
from tests.support.places import ROOT


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> RecordedRuntime:
    return recorded_runtime(tmp_path_factory.mktemp("recorded"))


@dataclass
class Lister:
    """Lists claims of records of the build. fulls: full builds whose names were read."""

    runtime: RecordedRuntime
    folder: Path
    fulls: list[Build]

    def edited(self, name: str = "edited", **fields: object) -> Path:
        """Write a record with other fields; return its folder."""
        place = self.folder / name
        place.mkdir(exist_ok=True)
        record = (self.runtime.build.image.parent / "build.json").read_text()
        (place / "build.json").write_text(json.dumps({**json.loads(record), **fields}))
        return place

    def list(self, path: Path, **requested: Any) -> ListedClaims:
        given = Files(self.runtime.build.image)
        return list_claims(self.runtime.root, path, RequestedClaims(**requested), given)


@pytest.fixture
def lister(runtime: RecordedRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lister:
    made = Lister(runtime, tmp_path, [])

    def names(build: Build, vocabulary: object) -> BuildNames:
        made.fulls.append(build)
        return BuildNames({}, {}, (), {})

    monkeypatch.setattr(verified_builds, "names_of_build", names)
    return made


def claims(listed: ListedClaims) -> tuple[Claim, ...]:
    assert listed.claims is not None
    return listed.claims.claims


def kept_dtypes(listed: ListedClaims) -> int:
    return sum(each.kind == "dtype" and each.expect == PRESENT for each in claims(listed))


def test_an_image_of_another_project_has_only_named_claims(lister: Lister) -> None:
    path = lister.edited(selection=None, asked_selection=None)
    with pytest.raises(InputError, match=r"no claims to verify; give --absent or --present$"):
        lister.list(path)
    found = lister.list(path, absent=("f",), present=("g",))
    assert (found.claims, found.against) == (None, "the given symbols")
    assert [(each.name, each.expect) for each in found.all] == [("f", ABSENT), ("g", PRESENT)]
    # Unless a selection is given
    selection = lister.runtime.root / "mlp.yaml"
    found = lister.list(path, selection=selection, present=("g",))
    own = lister.list(lister.runtime.build.image.parent, present=("g",))
    # The build's own selection is unknown
    of_build = {each for each in claims(own) if each.kind == "selection"}
    assert of_build
    assert {*claims(found)} == {*claims(own)} - of_build
    assert found.against == "mlp.yaml"
    assert found.subject == lister.runtime.build.title


def test_a_build_without_a_requested_selection_is_judged_by_its_own(lister: Lister) -> None:
    build = lister.runtime.build
    found = lister.list(lister.edited(asked_selection=None))
    assert found.against == str(build.selection)
    assert claims(found) == claims(lister.list(build.image.parent))
    everything = lister.folder / "all.yaml"
    everything.write_text("include_all_operators: true\n")
    found = lister.list(lister.edited(selection=str(everything), asked_selection=None))
    assert found.against == "all operators"
    assert {each.expect for each in claims(found) if each.kind == "operator"} == {PRESENT}


def test_a_build_of_all_dtypes_keeps_them(lister: Lister) -> None:
    """A selection that is asked for now counts with its dtypes."""
    path = lister.edited(dtypes=False)
    own = kept_dtypes(lister.list(lister.runtime.build.image.parent))
    assert kept_dtypes(lister.list(path)) > own
    assert kept_dtypes(lister.list(path, selection=lister.runtime.root / "mlp.yaml")) == own


def test_names_come_from_the_given_full_build_before_the_one_beside(lister: Lister) -> None:
    build = lister.runtime.build
    lister.list(build.image.parent)
    assert lister.fulls == []
    beside = read_build(lister.edited("full", variant="full"))
    image = lister.folder / "mlp" / "run_program"
    path = lister.edited("mlp", image=str(image))
    lister.list(path)
    assert lister.fulls == [beside]
    other = replace(beside, app="other")
    lister.list(path, full=other)
    assert lister.fulls == [beside, other]
    # A full build itself; an image has no folder to look beside
    lister.list(lister.edited("full", variant="full"))
    selection = lister.runtime.root / "mlp.yaml"
    lister.list(build.image, selection=selection)
    assert lister.fulls == [beside, other, beside]
    lister.list(build.image, selection=selection, full=other)
    assert lister.fulls[3:] == [other]


def test_other_builds_whose_names_are_known(
    lister: Lister, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The base, if it is given, and the full build beside a build; never the operators' symbols."""
    asked: list[tuple[object, ...]] = []

    def known(folder: Path, base: Path | None) -> tuple[Path, ...]:
        asked.append((folder, base))
        return (Path("full"),)

    monkeypatch.setattr(verified_builds, "known_builds", known)
    build, base = lister.runtime.build, Path("base")
    evidence = gather(Files(build.image))
    listed = lister.list(build.image.parent, present=("main",))
    for given in (None, base):
        requested = RequestedClaims(base=given, unknown_ok=given is not None)
        bare = verified_builds._names(evidence, listed, Files(build.image), requested)
        assert bare.others == ((base,) if given else ())
        files = replace(Files(build.image), build=build)
        found = verified_builds._names(evidence, listed, files, requested)
        assert (found.others, found.unknown_ok) == ((Path("full"),), given is not None)
        operators = {each.name for each in claims(listed) if each.kind == "operator"}
        assert {*found.operators} == operators
    assert asked == [(build.image.parent, None), (build.image.parent, base)]


@pytest.mark.parametrize(
    ("operator", "handled"),
    [
        ("prepacked::linear_clamp_prepack", {"LinearOpContext"}),  # returns one
        ("prepacked::linear_clamp_run", {"LinearOpContext"}),  # takes one
        ("aten::linear", set()),
    ],
)
def test_classes_of_selected_operators_are_noted(operator: str, handled: set[str]) -> None:
    universe = verified_builds.universe_of(ROOT, None)
    chosen = Selection({operator: SelectedOperator(include_all_overloads=False)})
    asked = universe.resolve(chosen, "app.yaml")
    claims = verified_builds.source_tree(ROOT)[0].claims(universe, asked, None)
    assert claims.handled == handled
