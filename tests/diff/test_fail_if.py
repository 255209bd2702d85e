"""Test `diff --fail-if`, a gate on two files without a policy."""

from __future__ import annotations

import json
import re
from pathlib import Path

import lief
import pytest
from click.testing import CliRunner, Result

from sizeguard.attribution.group import group
from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.base.errors import InputError
from sizeguard.cli.main import cli
from sizeguard.gate.fail_if import Judged
from tests.support.builds.recorded_builds import recorded_analysis, recorded_runtime
from tests.support.images.edited_elf import ALLOC, PROGBITS, EditedElf, Header

GROWN = 2048


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Make an image, and a copy with an additional section of 2 KiB."""
    old = recorded_runtime(tmp_path_factory.mktemp("old")).build.image
    new = tmp_path_factory.mktemp("new") / "new"
    edited = EditedElf.of(old.read_bytes())
    edited.add(Header(".grown", PROGBITS, ALLOC, 0x900000, 0, 0), bytes(GROWN))
    new.write_bytes(edited.file())
    return old, new


def compared(
    pair: tuple[Path, Path], *conditions: str, by: str = "section", format_: str = "terminal"
) -> Result:
    words = [word for each in conditions for word in ("--fail-if", each)]
    return CliRunner().invoke(
        cli, ["diff", *map(str, pair), "--by", by, "--format", format_, *words]
    )


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("load > +1KiB", 1),
        ("load > +2048B", 0),
        ("load > +2047 B", 1),
        ("load>+0", 1),
        ("load > +max(50%, 1KiB)", 0),
        ("load > 1MiB", 0),
        ("load > 100 B", 1),
        ("file > +0", 1),
        ("ram > +0", 0),
        ("section/.grown > 0", 1),
        ("section/.gr* > +0", 1),
        ("section/.text > +0", 0),
        ("section/.txet > +0", 3),
        ("section/.txet* > 0", 0),
        ("section/.txet* > 1KiB", 3),
        ("section/.txet* > +0", 3),
        ("symbol/*no_such_thing* > 0", 0),
        ("symbol/no_such_thing > 0", 3),
        # Two files have no list of operators to know a name from
        ("operator/aten::no_such > 0", 3),
        ("operator/aten::no_such > +0", 3),
    ],
)
def test_a_condition_decides_the_exit_code(
    pair: tuple[Path, Path], condition: str, code: int
) -> None:
    done = compared(pair, condition)
    assert done.exit_code == code, done.stderr
    metric = condition.partition(">")[0].strip().replace("*", "")
    assert metric.partition("/")[0] in done.stderr


def test_the_levels_shown_do_not_change_what_a_condition_counts(pair: tuple[Path, Path]) -> None:
    """Rows by section need no debug information, but these metrics do."""
    metrics = ("dtype/Float", "operator/aten::relu", "component/kernels")
    conditions = [f"{metric} > 1MiB" for metric in metrics]
    by_section = compared(pair, *conditions).stderr
    by_all = compared(pair, *conditions, by="dtype,operator,component").stderr
    assert by_section == by_all
    assert len(re.findall(r": [1-9][\d,]* B", by_section)) == len(metrics)


def test_the_worst_condition_decides_and_each_is_said(pair: tuple[Path, Path]) -> None:
    done = compared(pair, "load > +1GiB", "section/.txet > 0", "file > +0")
    assert done.exit_code == 1
    assert [line.split()[0] for line in done.stderr.splitlines()] == [
        "pass",
        "inconclusive",
        "fail",
    ]
    assert "nearest is" in done.stderr


@pytest.mark.parametrize("level", ["object", "archive"])
def test_objects_need_a_link_that_names_them(
    pair: tuple[Path, Path], tmp_path: Path, level: str
) -> None:
    for name in ("x", "*"):
        done = compared(pair, f"{level}/{name} > 0")
        assert done.exit_code == 3
        assert "matches nothing" in done.stderr or f"names no {level}" in done.stderr


def test_an_object_of_the_map_is_measured() -> None:
    """The recorded link has its map beside it, which `report` reads, too."""
    analysis = recorded_analysis("mlp")
    sizes = {row.keys[0]: row.load for row in group(analysis, ("object",)).rows if row.load}
    name, size = next((name, size) for name, size in sizes.items() if name.endswith(".o"))
    for limit, verdict in ((size, "pass"), (size - 1, "fail")):
        judged = Judged([f"object/{name} > {limit} B", f"object/{name} > +0"])
        for is_new in (False, True):
            judged.measure(analysis, is_new=is_new)
        assert [check.verdict for check in judged.checks] == [verdict, "pass"]
        assert judged.checks[0].actual == size


@pytest.mark.parametrize("is_new", [False, True])
def test_objects_that_one_image_does_not_name_are_undecided(tmp_path: Path, is_new: bool) -> None:
    """An image without a map of its link has objects, too: none of them has 0 bytes."""
    linked = recorded_analysis("mlp")
    bare = analysis_of(recorded_runtime(tmp_path).build.shipped)
    rows = group(linked, ("object",)).rows
    name = next(row.keys[0] for row in rows if row.keys[0].endswith(".o"))
    judged = Judged([f"object/{name} > +1GiB", "object/* > +1GiB", "archive/libc.a > +1GiB"])
    judged.measure(bare, is_new=is_new)
    judged.measure(linked, is_new=not is_new)
    assert {check.verdict for check in judged.checks} == {"inconclusive"}
    assert all(check.advice for check in judged.checks)


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("symbol/std::regex* > 0", 3),
        ("symbol/std::regex* > 1MiB", 3),
        ("symbol/* > 1GiB", 0),
        ("symbol/main > +0", 3),
    ],
)
def test_symbols_of_a_stripped_image_prove_nothing(
    pair: tuple[Path, Path], tmp_path: Path, condition: str, code: int
) -> None:
    stripped = tmp_path / "stripped"
    found = lief.ELF.parse(str(pair[0]))
    assert found is not None
    found.strip()
    found.write(str(stripped))
    done = compared((stripped, stripped), condition)
    assert done.exit_code == code, done.stderr


def test_a_line_has_the_figures_or_the_reason(pair: tuple[Path, Path]) -> None:
    lines = compared(pair, "load > +2KiB", "load > 100 B", "symbol/x > 0").stderr.splitlines()
    size, most = r"[\d,]+ B", r"at most [\d,]+ \(.+\)"
    assert re.fullmatch(rf"pass load: [\d,]+ → {size} \(\+2,048\), {most}", lines[1])
    assert re.fullmatch(rf"fail load: {size}, at most 100 \(.+\)", lines[0])
    assert lines[2].startswith("inconclusive symbol/x: ") and "unknown: ok" not in lines[2]


@pytest.mark.parametrize(("text", "shown"), [("load", "load > +1%"), ("size", "METRIC > +1%")])
def test_a_condition_without_a_bound_is_shown_with_one(
    pair: tuple[Path, Path], text: str, shown: str
) -> None:
    done = compared(pair, text)
    assert isinstance(done.exception, InputError)
    assert f"not a condition; write {shown}" in str(done.exception)


def test_no_condition_is_true() -> None:
    judged = Judged(())
    assert (judged.checks, judged.verdict, list(judged.lines())) == ((), "pass", [])


def test_equal_images_grow_by_nothing(pair: tuple[Path, Path]) -> None:
    assert compared((pair[0], pair[0]), "load > +0", "section/* > +0").exit_code == 0


def test_the_result_on_stdout_stays_the_formats(pair: tuple[Path, Path]) -> None:
    done = compared(pair, "load > +0", format_="json")
    assert done.exit_code == 1
    json.loads(done.stdout)


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("load", "not a condition"),
        ("laod > 1B", "nearest is 'load'"),
        ("load > 1%", "write +1%"),
        ("load >= 1KiB", "not a condition"),
        ("load < 1KiB", "not a condition"),
        ("load > -1%", "not a condition"),
        ("load > +1 furlong", "is not a limit"),
        ("load > much", "is not a size"),
        ("> 1KiB", "not a condition"),
        ("symbol/ > 0", "names no symbol"),
    ],
)
def test_what_is_no_condition_is_refused_before_anything_is_read(condition: str, says: str) -> None:
    done = compared((Path("/no/such/old"), Path("/no/such/new")), condition)
    assert isinstance(done.exception, InputError)
    assert says in str(done.exception)


def test_a_name_may_end_with_the_sign(pair: tuple[Path, Path]) -> None:
    done = compared(pair, "symbol/std::operator>> > 0")
    assert done.exit_code == 3
    assert "std::operator>>" in done.stderr
