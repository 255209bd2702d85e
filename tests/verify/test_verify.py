"""Verification of selections on real builds: kept and removed code.

Verdicts are checked with nm and strings, on renamed symbols, and on builds known to be wrong.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from click.testing import CliRunner

from sizeguard.base.errors import InconclusiveError
from sizeguard.builds.build_record import Build
from sizeguard.builds.open_build import Files, files_of
from sizeguard.claims.verdict import (
    ABSENT,
    FAIL,
    INCONCLUSIVE,
    NOT_APPLICABLE,
    PASS,
    PRESENT,
    VERDICTS,
    Verdict,
    Verification,
)
from sizeguard.cli.main import cli
from sizeguard.formats.elf import read_elf
from sizeguard.gate.cache.requested_claims import RequestedClaims
from sizeguard.gate.verified_builds import (
    list_claims,
    universe_of,
    verify_build,
    verify_path,
    verify_symbols,
)
from sizeguard.operators.library import read_operator_libraries
from sizeguard.report.verify.render import verification_text
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.variants import Variant, default_folder
from sizeguard.selection.read import read_selection
from sizeguard.toolchains.toolchain import Toolchain
from sizeguard.verify import judge_claims
from sizeguard.verify.evidence.tables import registered_in
from tests.support.builds.claim_laws import (
    check_alone_nothing_is_gone,
    check_no_failure_passes,
    counted,
)
from tests.support.histories.app_tree import selection_of


@pytest.fixture(scope="module")
def vision_selection(root: Path) -> Path:
    return selection_of("vision")


@pytest.fixture(scope="module")
def vision(root: Path, toolchain: Toolchain, vision_selection: Path) -> Build:
    variant = Variant("selective", "vision", vision_selection)
    return build(root, variant, toolchain, default_folder(root, variant, toolchain))


@pytest.fixture(scope="module")
def verified(root: Path, vision: Build) -> Verification:
    return verify_build(root, vision, RequestedClaims())


@pytest.fixture(scope="module")
def unselected(root: Path, full_build: Build, vision_selection: Path) -> Verification:
    """Verify the full build as vision: it contains everything that vision leaves out."""
    return verify_build(root, full_build, RequestedClaims(selection=vision_selection))


def test_all_of_a_selection_is_claimed_and_holds(
    verified: Verification, root: Path, vision_selection: Path
) -> None:
    assert (verified.verdict, verified.canary, verified.gaps) == (PASS, "ok", ())
    known = read_operator_libraries(
        [root / "native" / n / "operators.yaml" for n in ("operators", "prepacked")]
    )
    kept = set(read_selection(vision_selection).selection.selected_operators(known))
    claimed = {(v.name, v.expect) for v in verified.verdicts if v.kind == "operator"}
    assert claimed == {(name, PRESENT if name in kept else ABSENT) for name in known}
    dtypes = {v.name for v in verified.verdicts if v.kind == "dtype" and v.expect == PRESENT}
    asked = {
        f"{tag}:{d}"
        for tag, ds in read_selection(vision_selection).selection.kernel_metadata.items()
        for d in ds
    }
    assert dtypes <= asked
    assert len(dtypes) > 8


def test_kernels_that_are_gone_have_no_symbol(verified: Verification, vision: Build) -> None:
    """Check with nm, which is independent of our readers."""
    names = subprocess.run(
        ["nm", "-C", str(vision.image)], capture_output=True, text=True, check=True
    ).stdout
    there = {
        m[1] for m in re.finditer(r"sg::kernels::(?:\(anonymous namespace\)::)?(\w+)\(", names)
    }
    gone = {
        v.name
        for v in verified.verdicts
        if v.kind == "kernel" and v.expect == ABSENT and v.verdict == PASS
    }
    # A helper may have a kernel's name, in the anonymous namespace.
    helpers = {m[1] for m in re.finditer(r"sg::kernels::\(anonymous namespace\)::(\w+)\(", names)}
    assert len(gone) > 100
    assert not (gone & there) - helpers


def test_registrations_are_found_in_the_stripped_file(
    full_build: Build, vision: Build, root: Path
) -> None:
    for built in (full_build, vision):
        image = read_elf(built.shipped)
        assert image.is_stripped
        found = set(registered_in(image, ()).operators)
        text = built.shipped.read_bytes()
        assert all(f"{name}(".encode() in text for name in found)
        known = read_operator_libraries(
            [root / "native" / n / "operators.yaml" for n in ("operators", "prepacked")]
        )
        assert found == set(read_selection(built.selection).selection.selected_operators(known))


def test_everything_that_is_not_selected_fails_on_the_full_build(
    unselected: Verification, verified: Verification
) -> None:
    by_kind = counted(unselected)
    for kind in ("operator", "kernel", "class", "feature"):
        assert set(by_kind[kind, ABSENT]) == {FAIL}
        assert by_kind[kind, ABSENT] == Counter({FAIL: counted(verified)[kind, ABSENT][PASS]})
    passed = [
        v.name
        for v in unselected.verdicts
        if v.kind == "dtype" and v.expect == ABSENT and v.verdict == PASS
    ]
    assert passed == ["any other"]  # bodies without a switch
    assert unselected.canary == "ok"
    assert all(
        v.bytes > 0
        for v in unselected.verdicts
        if v.kind in ("operator", "kernel") and v.verdict == FAIL
    )


@pytest.mark.parametrize("change", ["other names", "no symbols"])
def test_without_names_nothing_that_failed_passes(
    root: Path,
    full_build: Build,
    vision_selection: Path,
    unselected: Verification,
    change: str,
    tmp_path: Path,
) -> None:
    image = tmp_path / "image"
    if change == "no symbols":
        subprocess.run(
            ["strip", "--strip-all", "-o", str(image), str(full_build.image)], check=True
        )
    else:
        listed = subprocess.run(
            ["nm", "--defined-only", str(full_build.image)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        names = sorted({line.split()[-1] for line in listed.splitlines()})
        renames = tmp_path / "names"
        renames.write_text("".join(f"{name} name_{i}\n" for i, name in enumerate(names)))
        subprocess.run(
            [
                "objcopy",
                "--strip-debug",
                f"--redefine-syms={renames}",
                str(full_build.image),
                str(image),
            ],
            check=True,
        )
    files = replace(files_of(full_build), image=image, twin=None)
    found = verify_path(root, image, RequestedClaims(selection=vision_selection), files)
    check_no_failure_passes(unselected, found)


def test_missing_evidence_is_inconclusive(
    root: Path, vision: Build, vision_selection: Path
) -> None:
    alone = verify_path(
        root, vision.shipped, RequestedClaims(selection=vision_selection), Files(vision.shipped)
    )
    check_alone_nothing_is_gone(alone)


def test_files_of_another_build_are_refused(root: Path, vision: Build, full_build: Build) -> None:
    for change in (
        {"link_map": full_build.map},
        {"objects": full_build.objects},
        {"twin": full_build.shipped},
    ):
        with pytest.raises(InconclusiveError, match="of another build"):
            verify_symbols(replace(files_of(vision), **change), ["main"], [])


def test_another_effective_selection_fails(root: Path, vision: Build, full_build: Build) -> None:
    """The selection of a build that keeps all dtypes is wider than the app's selection.

    The claims come from the app's selection.
    """
    wider = verify_build(root, replace(vision, selection=full_build.selection), RequestedClaims())
    assert {v.name for v in wider.verdicts if v.verdict == FAIL} == {
        "anything wider than the selection"
    }


def test_free_claims_take_cxx_names(vision: Build) -> None:
    gone, there = (
        ["sg::kernels::erf", "_ZN2sg7kernels3erfERNS_7ContextENS_6TensorE"],
        ["sg::kernels::relu", "main"],
    )
    found = verify_symbols(files_of(vision), gone, there)
    assert [v.verdict for v in found.verdicts] == [PASS] * 4
    assert {v.how for v in found.verdicts} == {"discarded_by_linker", "present"}
    swapped = verify_symbols(files_of(vision), there, gone)
    assert [v.verdict for v in swapped.verdicts] == [FAIL] * 4
    relu = swapped.verdicts[0]
    assert [step.symbol for step in relu.chain][-1] == "relu"
    assert relu.chain[0].section == ".init_array"


def test_every_claim_has_one_verdict_and_none_disappears(
    root: Path, vision: Build, full_build: Build, verified: Verification
) -> None:
    requested = RequestedClaims()
    names = universe_of(root, full_build).names
    for built, found in ((vision, verified), (full_build, None)):
        listed = list_claims(root, built.image.parent, requested, Files(built.image)).all
        judged = found or verify_build(root, built, requested)
        keys = [(v.kind, v.name, v.expect) for v in judged.verdicts]
        assert keys == [claim.key for claim in listed]
        assert len({key[:2] for key in keys}) == len(keys)
        counts = Counter(kind for kind, _, _ in keys)
        assert counts["operator"] == len(names.operators)
        assert counts["kernel"] == len(set(names.operators.values()))
        assert counts["dtype"] == sum(map(len, names.dtypes.values())) + 1
        assert counts["handler"] == len(names.dtypes) + 1
        assert counts["class"] == len(names.classes)
        assert counts["feature"] == len(names.features)
        reasons = [v.evidence for v in judged.verdicts if v.verdict == NOT_APPLICABLE]
        assert all(reasons)


def test_claims_are_listed_without_an_image(root: Path, vision: Build, tmp_path: Path) -> None:
    image = tmp_path / "none"
    image.write_bytes(b"")
    selection = str(vision.asked)
    options = ["verify", str(image), "--selection", selection, "--absent", "erf", "--list"]
    done = CliRunner().invoke(
        cli, [*options, "--runtime-source", str(root), "--format", "json"], catch_exceptions=False
    )
    assert done.exit_code == 0
    content = json.loads(done.stdout)
    schemas = resources.files("sizeguard.report").joinpath("schemas")
    schema = json.loads(schemas.joinpath("verify_list.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(content)
    assert {"kind": "operator", "name": "aten::relu", "expect": "present"} in content["claims"]
    assert content["claims"][-1] == {"kind": "symbol", "name": "erf", "expect": "absent"}


def test_without_debug_information_inlined_branches_are_not_decided(
    root: Path, vision: Build, tmp_path: Path
) -> None:
    """Strip debug information from one object; image and map stay unchanged."""
    objects = []
    for path in vision.objects:
        copy = tmp_path / path.name
        shutil.copy(path, copy)
        objects.append(copy)
    plain = next(path for path in objects if path.suffix == ".o")
    subprocess.run(["objcopy", "--strip-debug", str(plain)], check=True)
    given = replace(files_of(vision), objects=tuple(objects))
    found = counted(verify_build(root, vision, RequestedClaims(), given))
    assert set(found["dtype", ABSENT]) <= {INCONCLUSIVE, PASS}
    assert found["dtype", ABSENT][INCONCLUSIVE] > 190
    assert set(found["dtype", PRESENT]) == {PASS}


def test_a_verifier_that_passes_everything_is_broken(
    root: Path, vision: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    def passes(*arguments: object, **_: object) -> Verdict:
        return Verdict("operator", "x", ABSENT, PASS, "not_generated", 0, ())

    monkeypatch.setattr(judge_claims, "judge_registered", passes)
    found = verify_build(root, vision, RequestedClaims())
    assert found.canary == "broken"
    assert verification_text(found, "terminal").startswith("BROKEN")


def test_every_format_has_every_failure(unselected: Verification) -> None:
    content = json.loads(verification_text(unselected, "json"))
    schema = resources.files("sizeguard.report").joinpath("schemas/verify.schema.json").read_text()
    jsonschema.Draft202012Validator(json.loads(schema)).validate(content)
    assert content["summary"] == {v: unselected.count(v) for v in VERDICTS}
    assert len(content["claims"]) == len(unselected.verdicts)
    suite = ElementTree.fromstring(verification_text(unselected, "junit"))
    assert (
        suite.get("failures")
        == str(unselected.count(FAIL))
        == str(len(suite.findall(".//failure")))
    )
    sarif = json.loads(verification_text(unselected, "sarif"))
    assert sum(row["level"] == "error" for row in sarif["runs"][0]["results"]) == unselected.count(
        FAIL
    )
    rows = list(csv.reader(io.StringIO(verification_text(unselected, "csv"))))
    assert len(rows) == len(unselected.verdicts) + 1
    annotations = verification_text(unselected, "github").splitlines()
    # GitHub shows at most 10 for a step
    assert sum(line.startswith("::error ") for line in annotations) == 10
    assert f"{unselected.count(FAIL) + 1 - 9} more like this" in annotations[9]
    assert "still there" in verification_text(unselected, "markdown")
    assert verification_text(unselected, "terminal").startswith("FAIL  full against ")
