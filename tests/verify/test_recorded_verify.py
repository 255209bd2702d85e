"""Verdicts on recorded builds: pass, fail and inconclusive, without a compiler.

tests/generators/recorded_builds.py made the builds: the runtime with the selection mlp.yaml, and
the programs of tests/data/retention with gcc and GNU ld.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from dataclasses import replace
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from click.testing import CliRunner

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.builds.open_build import Files, files_of
from sizeguard.claims.verdict import (
    ABSENT,
    FAIL,
    INCONCLUSIVE,
    NOT_APPLICABLE,
    PASS,
    PRESENT,
    Verification,
)
from sizeguard.cli.main import cli
from sizeguard.gate import elimination, verified_builds
from sizeguard.gate.cache import kept_verification
from sizeguard.gate.cache.requested_claims import RequestedClaims
from sizeguard.gate.verified_builds import verify_build, verify_path, verify_symbols
from sizeguard.projects.project import App
from sizeguard.report.verify.render import verification_text
from sizeguard.snapshots.store import Store
from sizeguard.verify import judge_claims
from tests.support.builds.recorded_builds import (
    RecordedRuntime,
    files_of_program,
    recorded_runtime,
    unpack,
)
from tests.support.links.retention_programs import CASES

RELU = "  aten::relu: {is_root_operator: true, is_used_for_training: false"
ERF = """\
  aten::erf: {is_root_operator: true, is_used_for_training: false, include_all_overloads: false}
"""

# How a program's function was removed, or why it is still in the image.
DISCARDED, NOT_GENERATED = "discarded_by_linker", "not_generated"
GONE = {
    "00": DISCARDED,
    "02": DISCARDED,
    "03": DISCARDED,
    "06": DISCARDED,
    "10": DISCARDED,
    "11": DISCARDED,
    "12": DISCARDED,
    "14": DISCARDED,
    "16": DISCARDED,
    "17": NOT_GENERATED,
    "selector": DISCARDED,
    "export-dynamic-hidden": DISCARDED,
    "shared-hidden": DISCARDED,
    "shared-local": DISCARDED,
}
THERE = {
    "01": "static initializer: _GLOBAL__sub_I_subject",
    "04": "vtable: Shape",
    "05": "address table: functions, referred to by main",
    "07": "retain attribute: subject",
    "08": "section bounds: __stop_opregs",
    "09": "constructor function: subject runs at start-up",
    "13": "reference: referred to by main",
    "15": "thrown exception type: Failure, thrown in fail",
    "no-gc": "no --gc-sections",
    "one-section": "shared section: in .text with live",
    "O0-one-section": "shared section: in .text with main",
    "export-dynamic": "exported symbol: it is exported",
    "shared": "exported symbol: it is exported",
    "shared-attribute": "exported symbol: it is exported",
    "undefined": "command line: no section leads to it",
    "partial-link": "partial link: -r removes nothing",
}
SUBJECTS = {case.name: case.subject for case in CASES}


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> RecordedRuntime:
    return recorded_runtime(tmp_path_factory.mktemp("recorded"))


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("programs", tmp_path_factory.mktemp("recorded"))


@pytest.fixture(scope="module")
def verified(runtime: RecordedRuntime) -> Verification:
    return verify_build(runtime.root, runtime.build, RequestedClaims())


def selection_of(runtime: RecordedRuntime) -> str:
    return (runtime.root / "mlp.yaml").read_text()


def claimed(runtime: RecordedRuntime, folder: Path, selection: str) -> Verification:
    """Verify the build against another selection."""
    path = folder / "claimed.yaml"
    path.write_text(selection)
    return verify_build(runtime.root, runtime.build, RequestedClaims(selection=path))


def failing(found: Verification) -> dict[tuple[str, str], str]:
    return {(v.kind, v.name): v.how for v in found.verdicts if v.verdict == FAIL}


def test_a_build_of_its_selection_passes(runtime: RecordedRuntime, verified: Verification) -> None:
    assert (verified.verdict, verified.canary, verified.gaps) == (PASS, "ok", ())
    claims = Counter((v.kind, v.expect) for v in verified.verdicts)
    listed = sum(
        len(re.findall(r"^- ?\{? ?func:", path.read_text(), re.MULTILINE))
        for path in (runtime.root / "native").glob("*/operators.yaml")
    )
    assert claims["operator", PRESENT] == 6
    assert claims["operator", PRESENT] + claims["operator", ABSENT] == listed
    kept = {v.name for v in verified.verdicts if v.expect == PRESENT and v.kind == "dtype"}
    assert kept == {"_softmax:Float", "gemm:Float", "relu:Float"}
    assert Counter(v.verdict for v in verified.verdicts) == {PASS: 581, NOT_APPLICABLE: 42}


def test_an_operator_that_should_be_gone_fails_with_its_kernel_and_dtype(
    runtime: RecordedRuntime, tmp_path: Path
) -> None:
    lines = selection_of(runtime).splitlines(keepends=True)
    without = "".join(line for line in lines if not line.startswith((RELU, "  relu:")))
    found = claimed(runtime, tmp_path, without)
    assert (found.verdict, found.canary) == (FAIL, "ok")
    assert failing(found) == {
        ("operator", "aten::relu"): "still_there",
        ("kernel", "relu"): "still_there",
        ("dtype", "relu:Float"): "still_there",
        ("selection", "anything wider than the selection"): "still_there",
    }
    kernel = next(v for v in found.verdicts if v.name == "relu")
    assert kernel.bytes == 252
    steps = [step.symbol for step in kernel.chain]
    assert (steps[1], steps[3]) == ("_GLOBAL__sub_I_RegisterCPU.cpp", "kOperators")
    assert steps[2].endswith("::library")
    assert kernel.cause.startswith("address table: kOperators")


def test_an_operator_that_is_missing_fails(runtime: RecordedRuntime, tmp_path: Path) -> None:
    selection = selection_of(runtime)
    wider = selection.replace("kernel_metadata:\n", f"{ERF}kernel_metadata:\n  erf: [Float]\n")
    found = claimed(runtime, tmp_path, wider)
    assert failing(found) == {
        ("operator", "aten::erf"): "not_generated",
        ("kernel", "erf"): "discarded_by_linker",
        ("selection", "everything of the selection"): "not_generated",
    }


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            "gemm: [Float]",
            "gemm: [Float, Double]",
            {
                ("dtype", "gemm:Double"): "removed_by_compiler",
                ("selection", "everything of the selection"): "not_generated",
            },
        ),
        (
            "  relu: [Float]\n",
            "",
            {
                ("dtype", "relu:Float"): "still_there",
                ("selection", "anything wider than the selection"): "still_there",
            },
        ),
    ],
)
def test_a_dtype_fails_alone(
    runtime: RecordedRuntime,
    tmp_path: Path,
    before: str,
    after: str,
    expected: dict[tuple[str, str], str],
) -> None:
    found = claimed(runtime, tmp_path, selection_of(runtime).replace(before, after))
    assert failing(found) == expected


def test_a_stripped_image_alone_proves_what_is_there_and_nothing_that_is_gone(
    runtime: RecordedRuntime,
) -> None:
    shipped = runtime.build.shipped
    claims = RequestedClaims(selection=runtime.root / "mlp.yaml")
    found = verify_path(runtime.root, shipped, claims, Files(shipped))
    assert found.verdict == INCONCLUSIVE
    assert found.gaps == (
        "no objects were given (--objects), and no link is recorded (sizeguard record)",
        "no linker map was given (--map)",
        "the image is stripped: pass its twin with symbols",
    )
    verdicts = {(v.kind, v.expect, v.verdict) for v in found.verdicts}
    assert ("operator", PRESENT, PASS) in verdicts
    assert {each for each in verdicts if each[1] == ABSENT and each[2] != INCONCLUSIVE} == set()


def test_switches_are_undecided_where_no_code_is_placed(runtime: RecordedRuntime) -> None:
    """Without objects and a map, any function of the image may have a switch."""
    image = runtime.build.image
    claims = RequestedClaims(selection=runtime.root / "mlp.yaml")
    found = verify_path(runtime.root, image, claims, Files(image))
    handlers = [v for v in found.verdicts if (v.kind, v.expect) == ("handler", PRESENT)]
    assert len(handlers) == 46
    assert {v.verdict for v in handlers} == {INCONCLUSIVE}


@pytest.mark.parametrize(
    ("change", "gap"),
    [
        (
            {"objects": ()},
            "no objects were given (--objects), and no link is recorded (sizeguard record)",
        ),
        ({"link_map": None}, "no linker map was given (--map)"),
    ],
)
def test_missing_evidence_is_inconclusive(
    runtime: RecordedRuntime, change: dict[str, object], gap: str
) -> None:
    """Leave out the record of the build, since it names the missing files."""
    files = replace(files_of(runtime.build), build=None, **change)
    found = verify_path(
        runtime.root, files.image, RequestedClaims(selection=runtime.root / "mlp.yaml"), files
    )
    assert (found.verdict, found.gaps) == (INCONCLUSIVE, (gap,))
    assert found.count(FAIL) == 0


def test_files_of_another_build_are_refused(runtime: RecordedRuntime, programs: Path) -> None:
    other = files_of_program(programs / "00")
    for change in (
        {"link_map": other.link_map},
        {"objects": other.objects, "link_map": None},
        {"twin": other.twin},
    ):
        with pytest.raises(InconclusiveError, match=r"of another build|of this image"):
            verify_symbols(replace(files_of(runtime.build), **change), ["main"], [])
    with pytest.raises(InputError, match="cannot read"):
        verify_symbols(replace(files_of(runtime.build), twin=programs / "none"), ["main"], [])


def test_free_claims_on_names(runtime: RecordedRuntime) -> None:
    erf, relu = "_ZN2sg7kernels3erfERNS_7ContextENS_6TensorE", "sg::kernels::relu"
    found = verify_symbols(files_of(runtime.build), [erf], [relu, "main"])
    assert [(v.verdict, v.how) for v in found.verdicts] == [
        (PASS, "discarded_by_linker"),
        (PASS, "present"),
        (PASS, "present"),
    ]
    swapped = verify_symbols(files_of(runtime.build), [relu], ["sg::kernels::erf"])
    assert [(v.verdict, v.how) for v in swapped.verdicts] == [
        (FAIL, "still_there"),
        (FAIL, "discarded_by_linker"),
    ]


def test_free_claims_on_operators(runtime: RecordedRuntime) -> None:
    """Find operators in the registration tables, with or without an overload."""

    def judged(absent: str, present: str) -> list[tuple[str, str, str]]:
        claims = RequestedClaims(absent=(absent,), present=(present,))
        found = verify_build(runtime.root, runtime.build, claims).verdicts
        return [(v.kind, v.name, v.verdict) for v in found[-4:]]

    assert judged("aten::erf", "aten::relu")[2:] == [
        ("operator", "aten::erf", PASS),
        ("operator", "aten::relu", PASS),
    ]
    assert {verdict for _, _, verdict in judged("aten::relu", "aten::erf")[2:]} == {FAIL}
    # The overloads of aten::add are Tensor, Scalar and those for numbers
    claimed = [name for _, name, _ in judged("aten::erf", "aten::add")[1:]]
    assert len({*claimed}) == 3
    assert all(name.startswith("aten::add.") for name in claimed)
    # The tables of an image are enough, without the sources
    (bare,) = verify_symbols(Files(runtime.build.image), ["aten::relu"], []).verdicts
    assert (bare.kind, bare.verdict) == ("operator", FAIL)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("sg::kernels::rellu", "sg::kernels::relu(sg::Context&, sg::Tensor)"),
        ("aten::rellu", "aten::relu"),
        ("sg::kernels::relu(sg::Context*)", "sg::kernels::relu(sg::Context&, sg::Tensor)"),
        ("_ZN2sg7kernels4reluERNS_7ContextENS_6TensoE", "_ZN2sg7kernels4reluERNS_7ContextENS"),
    ],
)
def test_an_unknown_name_is_inconclusive(runtime: RecordedRuntime, name: str, nearest: str) -> None:
    found = verify_symbols(files_of(runtime.build), [name], [name])
    assert [(v.verdict, v.how) for v in found.verdicts] == [(INCONCLUSIVE, "unknown")] * 2
    assert all(f"; nearest is {nearest}" in v.cause for v in found.verdicts)
    decided = verify_symbols(
        files_of(runtime.build), [name], [name], RequestedClaims(unknown_ok=True)
    )
    assert [v.verdict for v in decided.verdicts] == [PASS, FAIL]


def test_a_glob_claims_every_match(runtime: RecordedRuntime) -> None:
    found = verify_symbols(files_of(runtime.build), [], ["sg::kernels::er*"])
    assert {v.name: v.verdict for v in found.verdicts}[
        "sg::kernels::erf(sg::Context&, sg::Tensor)"
    ] == FAIL
    nothing = verify_symbols(files_of(runtime.build), ["nobody::*"], ["nobody::*"])
    assert [v.verdict for v in nothing.verdicts] == [PASS, INCONCLUSIVE]
    assert all(v.evidence[0] == "matches nothing: nobody::*" for v in nothing.verdicts)
    bare = verify_symbols(Files(runtime.build.image), ["nobody::*"], [])
    assert bare.verdicts[0].verdict == INCONCLUSIVE
    scopeless = verify_symbols(files_of(runtime.build), ["kernels::er*"], [])
    assert scopeless.verdicts[0].verdict == INCONCLUSIVE
    assert "with more scopes it matches sg::kernels::erf(" in scopeless.verdicts[0].evidence[0]


def test_what_the_base_had_is_known(programs: Path) -> None:
    """`subject` is only in the base, so it is absent and not unknown."""
    gone, base = files_of_program(programs / "17"), files_of_program(programs / "09").image
    unknown = verify_symbols(gone, ["subject"], ["subject"])
    assert [v.verdict for v in unknown.verdicts] == [INCONCLUSIVE, INCONCLUSIVE]
    for name in ("subject", "subj*"):
        found = verify_symbols(gone, [name], [name], RequestedClaims(base=base))
        assert [v.verdict for v in found.verdicts] == [PASS, FAIL]


def test_a_verifier_that_passes_everything_is_broken(
    runtime: RecordedRuntime, verified: Verification, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge_claims, "judge_registered", lambda *_: verified.verdicts[0])
    found = verify_build(runtime.root, runtime.build, RequestedClaims())
    assert found.canary == "broken"
    assert verification_text(found, "terminal").startswith("BROKEN")


@pytest.mark.parametrize("name", sorted(GONE))
def test_a_program_without_the_function_passes(programs: Path, name: str) -> None:
    # No object of program 17 has the name: the compiler inlined every call
    may_be_unknown = RequestedClaims(unknown_ok=GONE[name] == NOT_GENERATED)
    files = files_of_program(programs / name)
    found = verify_symbols(files, [SUBJECTS[name]], [], may_be_unknown)
    (verdict,) = found.verdicts
    assert (verdict.verdict, verdict.how, verdict.cause) == (PASS, GONE[name], "")
    assert (found.canary, found.gaps) == ("ok", ())


@pytest.mark.parametrize("name", sorted(THERE))
def test_a_program_with_the_function_fails_with_its_cause(programs: Path, name: str) -> None:
    files = files_of_program(programs / name, twin=name != "partial-link")
    found = verify_symbols(files, [SUBJECTS[name]], [])
    (verdict,) = found.verdicts
    assert (verdict.verdict, verdict.how) == (FAIL, "still_there")
    assert verdict.cause.startswith(THERE[name])
    assert verdict.bytes > 0
    assert found.canary == "ok"


def test_the_recorded_programs_are_all_judged(programs: Path) -> None:
    assert {path.name for path in programs.iterdir()} == GONE.keys() | THERE.keys()


@pytest.mark.parametrize(
    ("claims", "with_map", "code"),
    [
        (("--absent", "subject", "--present", "main"), True, 0),
        (("--absent", "main"), True, 1),
        (("--present", "subject"), True, 1),
        (("--absent", "subject"), False, 3),
        ((), True, 2),
    ],
)
def test_exit_codes(programs: Path, claims: tuple[str, ...], with_map: bool, code: int) -> None:
    folder = programs / "00"
    evidence = ["--objects", str(folder / "program.o"), "--map", str(folder / "program.map")]
    command = ["verify", str(folder / "program"), *(evidence if with_map else []), *claims]
    done = CliRunner().invoke(cli, command)
    ended = done.exception.exit_code if isinstance(done.exception, InputError) else done.exit_code
    assert ended == code


def test_formats_agree_on_a_failure(runtime: RecordedRuntime, tmp_path: Path) -> None:
    """Claim one more operator: the operator, its kernel and the selection fail."""
    selection = selection_of(runtime).replace("kernel_metadata:\n", f"{ERF}kernel_metadata:\n")
    found = claimed(runtime, tmp_path, selection)
    content = json.loads(verification_text(found, "json"))
    schema = resources.files("sizeguard.report").joinpath("schemas/verify.schema.json").read_text()
    jsonschema.Draft202012Validator(json.loads(schema)).validate(content)
    assert content["summary"] == {
        "pass": 578,
        "fail": 3,
        "inconclusive": 0,
        "not_applicable": 42,
    }
    suite = ElementTree.fromstring(verification_text(found, "junit"))
    assert len(suite.findall(".//failure")) == 3
    rows = list(csv.DictReader(io.StringIO(verification_text(found, "csv"))))
    assert Counter(row["verdict"] for row in rows) == {"pass": 578, "fail": 3, "not_applicable": 42}
    assert verification_text(found, "terminal").startswith("FAIL  mlp against ")
    assert "aten::erf" in verification_text(found, "github")


@pytest.mark.parametrize(
    ("selection", "verdict", "left"),
    [("mlp", PASS, 0), ("wider", FAIL, 3), ("bare", INCONCLUSIVE, 0)],
)
def test_the_gates_check_of_elimination(
    runtime: RecordedRuntime,
    programs: Path,
    tmp_path: Path,
    selection: str,
    verdict: str,
    left: int,
) -> None:
    """All claims hold, three claims fail, or the map is from another build."""
    text = selection_of(runtime)
    if selection == "wider":
        text = text.replace("kernel_metadata:\n", f"{ERF}kernel_metadata:\n")
    path = tmp_path / "selection.yaml"
    path.write_text(text)
    build = runtime.build
    if selection == "bare":
        build = replace(build, map=programs / "00" / "program.map")
    app = App("mlp", path, (), ())
    check, found = elimination.check_elimination(runtime.root, app, build)
    assert (check.verdict, check.actual, check.limit, check.headroom) == (verdict, left, 0, -left)
    assert check.id == "mlp/elimination"
    assert (found is None) == (verdict == INCONCLUSIVE)
    advice = {PASS: "", FAIL: "see the claims and their evidence: sizeguard verify build/mlp"}
    assert check.advice == advice.get(verdict, check.advice)
    assert check.advice or verdict == PASS


def test_a_verification_is_kept_for_equal_claims(
    runtime: RecordedRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "store")
    selection = tmp_path / "selection.yaml"
    selection.write_text(selection_of(runtime))
    first = kept_verification.verified(runtime.root, runtime.build, selection, store)

    def refuse(*_: object) -> Verification:
        raise AssertionError("it was verified again")

    monkeypatch.setattr(verified_builds, "verify_build", refuse)
    assert kept_verification.verified(runtime.root, runtime.build, selection, store) == first
    selection.write_text(selection.read_text().replace("gemm: [Float]", "gemm: [Double]"))
    with pytest.raises(AssertionError, match="it was verified again"):
        kept_verification.verified(runtime.root, runtime.build, selection, store)
