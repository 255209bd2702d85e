"""Every cause of retained code, checked against a marker in the stripped file.

Each case uses every linker and every compiler; tests/soak/verifier/retention.py tries all
combinations.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from sizeguard.base.errors import InconclusiveError
from sizeguard.builds.open_build import Files
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.gate.verified_builds import verify_symbols
from tests.support.links.retention_programs import (
    CASES,
    COMPILERS,
    LINKERS,
    Case,
    Program,
    build,
    output,
    run,
    wrong,
)

pytestmark = pytest.mark.native

PAIRS = [
    pytest.param(
        case,
        sorted(COMPILERS)[(i + j) % 2],
        linker,
        id=f"{case.name}-{sorted(COMPILERS)[(i + j) % 2]}-{linker}",
    )
    for i, case in enumerate(CASES)
    for j, linker in enumerate(LINKERS)
]


@pytest.mark.parametrize(("case", "compiler", "linker"), PAIRS)
def test_what_stays_fails_with_its_cause_and_what_is_gone_passes(
    case: Case, compiler: str, linker: str, tmp_path: Path
) -> None:
    program = build(case, compiler, linker, tmp_path)
    assert case.kept in (None, program.kept)
    assert wrong(case, program) == ""


def given(program: Program) -> Files:
    return Files(program.image, None, program.objects, program.link_map, None, program.image.parent)


def verdict(files: Files, case: Case) -> str:
    return verify_symbols(files, [case.subject], []).verdicts[0].verdict


@pytest.fixture(scope="module", params=["00", "05"])
def program(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Case, Program]:
    case = next(case for case in CASES if case.name == request.param)
    return case, build(case, "gcc", "bfd", tmp_path_factory.mktemp("program"))


@pytest.mark.parametrize("missing", ["symbols", "map", "objects", "all"])
def test_missing_evidence_passes_nothing(program: tuple[Case, Program], missing: str) -> None:
    case, built = program
    files = given(built)
    if missing in ("symbols", "all"):
        files = replace(files, image=built.stripped)
    if missing in ("map", "all"):
        files = replace(files, link_map=None)
    if missing in ("objects", "all"):
        files = replace(files, objects=())
    found = verdict(files, case)
    assert found in ((FAIL, INCONCLUSIVE) if built.kept else (INCONCLUSIVE,))
    if built.kept and missing in ("map", "objects"):
        assert found == FAIL  # the image is enough evidence


def test_nothing_missing_decides(program: tuple[Case, Program]) -> None:
    case, built = program
    assert verdict(given(built), case) == (FAIL if built.kept else PASS)


@pytest.mark.parametrize("files", ["image", "image and objects"])
def test_other_names_turn_no_fail_into_a_pass(
    program: tuple[Case, Program], files: str, tmp_path: Path
) -> None:
    case, built = program
    names = sorted(
        {line.split()[-1] for line in output(["nm", "--defined-only", str(built.image)])}
    )
    renames = tmp_path / "names"
    renames.write_text("".join(f"{name} name_{i}\n" for i, name in enumerate(names)))
    image = tmp_path / "renamed"
    run(["objcopy", f"--redefine-syms={renames}", str(built.image), str(image)])
    objects = list(built.objects)
    if files != "image":
        for i, path in enumerate(objects):
            objects[i] = tmp_path / path.name
            run(["objcopy", f"--redefine-syms={renames}", str(path), str(objects[i])])
    assert "subject" not in "".join(output(["nm", str(image)]))
    found = verdict(replace(given(built), image=image, objects=tuple(objects)), case)
    assert (found == FAIL) == built.kept


def test_files_of_another_build_are_refused(program: tuple[Case, Program], tmp_path: Path) -> None:
    case, built = program
    other = build(replace(case, name="other"), "gcc", "bfd", tmp_path, optimize="-O0")
    for files in (
        replace(given(built), link_map=other.link_map),
        replace(given(built), objects=other.objects),
    ):
        with pytest.raises(InconclusiveError, match="of another build"):
            verdict(files, case)
    with pytest.raises(InconclusiveError, match="stripped"):
        verdict(replace(given(built), twin=other.stripped), case)
