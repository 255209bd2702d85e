"""The runners of soak scripts and benchmarks: lists, runs, logs and summaries."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.bench import run as bench
from tests.soak import run as soak
from tests.soak.images.drawn_packages import check_image
from tests.soak.mutants.room_mutants import draw
from tests.soak.mutants.surviving_mutants import survivors
from tests.soak.mutants.verdict_mutants import Mutant, imported
from tests.support.images.made_elf import SHT_SYMTAB, Form, MadeSection, make_elf
from tests.support.mutant_outcomes import KILLED, LEFT, Outcomes, outcomes_in
from tests.support.places import ROOT
from tests.support.script import Tally, options_of
from tests.support.script_runner import Outcome, Script, main, modules_in, run_scripts, summary


def test_every_script_is_run_or_named_as_one_that_is_not() -> None:
    assert set(modules_in("soak")) == {each.name for each in soak.SCRIPTS} | set(soak.BY_HAND)
    without_torch = {each.name for each in bench.scripts(None)}
    assert set(modules_in("bench")) - without_torch - set(bench.BY_HAND) == set(bench.NEED_TORCH)
    assert set(bench.BY_HAND) <= set(modules_in("bench"))


def test_the_list_has_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main("", "soak", soak.SCRIPTS, ["--list"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["fuzz", "25", "min"]
    assert main("", "soak", soak.SCRIPTS, ["--list", "--only", "retention"]) == 0
    assert capsys.readouterr().out.split() == ["retention", "15", "min"]


@pytest.mark.native  # starts make
def test_benchmarks_without_torch_name_those_that_they_leave_out() -> None:
    """The runner's last line, and the same from `make bench`, which has no other arguments."""
    planned = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", "bench"],
        cwd=ROOT,
        env={**os.environ, "MAKEFLAGS": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    command = planned.stdout.splitlines()[-1].split()
    assert command[1:] == ["-m", "tests.bench.run"]
    command = [sys.executable, *command[1:], "--list"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    *listed, last = done.stdout.splitlines()
    assert [line.split()[0] for line in listed] == [each.name for each in bench.scripts(None)]
    assert last.startswith("not run: mobilenet_speed, report_speed; ")
    assert last.endswith(": make bench TORCH_PYTHON=path")
    for python in (sys.executable, "/nowhere"):
        refused = subprocess.run(
            [*command, "--torch-python", python], cwd=ROOT, capture_output=True, text=True
        )
        assert refused.returncode == 2
        assert refused.stderr == f"error: {python} is no Python that has torch 2.13\n"


def test_an_unknown_script_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main("", "soak", soak.SCRIPTS, ["--only", "fuz"])
    assert ended.value.code == 2
    assert "invalid choice: 'fuz'" in capsys.readouterr().err


@pytest.mark.native  # takes seconds
def test_scripts_run_with_a_log_each_and_one_that_fails_fails_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run two scripts that only print: one with --help, and one with an unknown option."""
    scripts = (Script("retention", 1, ("--help",)), Script("live_set", 1, ("--mod-e",)))
    assert run_scripts("soak", scripts, tmp_path / "logs", jobs=2) == 1
    said = capsys.readouterr().out
    assert "retention: ok" in said
    assert f"live_set: exit 2, see {tmp_path}/logs/live_set.log" in said
    rows = [line.split(maxsplit=3) for line in said.splitlines()[-2:]]
    assert [row[0] for row in rows] == ["retention", "live_set"]
    assert "unrecognized arguments: --mod-e" in rows[1][3]
    assert "--optimize" in (tmp_path / "logs" / "retention.log").read_text()
    assert run_scripts("soak", scripts[:1], tmp_path / "logs", jobs=1) == 0


def test_the_summary_is_a_table() -> None:
    outcomes = [
        Outcome(Script("fuzz", 10), 0, 600.0, "3 checked, 0 failed", Path("x")),
        Outcome(Script("native_live_set", 60), 1, 90.0, "", Path("y")),
    ]
    assert summary(outcomes).splitlines() == [
        "script               result      min  last line",
        "fuzz                 ok         10.0  3 checked, 0 failed",
        "native_live_set      exit 1      1.5",
    ]


def test_a_tally_counts_and_says_what_failed(capsys: pytest.CaptureFixture[str]) -> None:
    tally = Tally()
    assert tally.check(True, "never said")
    assert tally.close() == 0
    assert not tally.check(False, "x is 3")
    assert tally.close("7 s") == 1
    assert capsys.readouterr().out.splitlines() == [
        "1 checked, 0 failed",
        "FAIL x is 3",
        "2 checked, 1 failed; 7 s",
    ]
    assert Tally().close() == 1  # nothing was checked


def test_the_help_is_the_docstring() -> None:
    assert "python -m tests.soak.run [--list]" in options_of(soak.__doc__).format_help()


def test_drawn_mutants_that_were_judged_are_known(tmp_path: Path) -> None:
    drawn = draw(["claims"], seed=1, count=12)
    assert drawn == draw(["claims"], seed=1, count=14)[:12] != draw(["claims"], seed=2, count=12)
    assert len({each.key for each in drawn}) == 12
    file = tmp_path / "outcomes"
    assert outcomes_in(file) == {}
    file.write_text("".join(f"{each.key}\tsurvives 2 of 3 tests\n" for each in drawn[:2]))
    assert [each.key in outcomes_in(file) for each in drawn[:3]] == [True, True, False]
    assert set(outcomes_in(file).values()) == {"survives 2 of 3 tests"}


def test_a_mutant_is_judged_once(tmp_path: Path) -> None:
    first, second, third = draw(["claims"], seed=1, count=3)
    file = tmp_path / "outcomes"
    asked: list[str] = []

    def judge(mutant: Mutant, outcome: str) -> str:
        asked.append(mutant.key)
        return outcome

    for _ in range(2):
        outcomes = Outcomes(file)
        assert outcomes.of(first, lambda: judge(first, KILLED)) == KILLED
        assert outcomes.of(second, lambda: judge(second, "survives")) == "survives"
    assert asked == [first.key, second.key]
    assert file.read_text().splitlines()[1] == f"{second.key}\tsurvives\t{second.place}"
    outcomes = Outcomes(file, minutes=-1)
    assert outcomes.of(second, lambda: KILLED) == "survives"
    assert outcomes.of(third, lambda: KILLED) == LEFT
    assert third.key not in outcomes_in(file)


def test_only_all_tests_let_a_mutant_survive(tmp_path: Path) -> None:
    first, second = draw(["claims"], seed=1, count=2)
    outcomes = Outcomes(tmp_path / "outcomes")
    assert outcomes.of(first, lambda: "survives", is_last=False) == "survives"
    assert outcomes.of(second, lambda: KILLED, is_last=False) == KILLED
    assert {*outcomes_in(outcomes.file)} == {second.key}
    assert outcomes.of(first, lambda: KILLED) == outcomes.of(second, lambda: "survives") == KILLED


def test_tests_near_a_module_import_it() -> None:
    text = (
        "from sizeguard.gate import elimination\n"
        "def f():\n    from sizeguard.gate.run import run_gate\n"
    )
    assert {"sizeguard.gate.elimination", "sizeguard.gate.run"} <= imported(text)
    assert "sizeguard.gate.elimination" not in imported("text = 'sizeguard.gate.elimination'\n")


def test_survivors_are_those_that_no_test_killed(tmp_path: Path) -> None:
    drawn = draw(["claims"], seed=1, count=4)
    words = (KILLED, "survives", "survives 2 of 3 tests", "no test")
    file = tmp_path / "outcomes"
    rows = zip(drawn, words, strict=True)
    file.write_text("".join(f"{each.key}\t{word}\t{each.place}\n" for each, word in rows))
    found = {each.key for each in survivors(file, [])}
    assert found == {each.key for each in drawn[1:]}
    assert {each.key for each in survivors(file, [drawn[1].module])} <= found


def test_a_file_that_the_second_reader_cannot_read_is_counted(tmp_path: Path) -> None:
    """Files of illumos have a hash table whose symbols have no strings: pyelftools raises."""
    path = tmp_path / "image"
    text = MadeSection(".text", flags=6, address=0x1000, content=b"\x90" * 64)
    symbols = MadeSection(".dynsym", type=SHT_SYMTAB, content=bytes(24), entry_size=24)
    table = MadeSection(".hash", type=5, content=bytes(16), link=2)
    path.write_bytes(make_elf(Form(), [text, symbols, table]))
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    check_image(path, counts, Counter(), wrong)
    assert counts == {"elf x86_64": 1, "elf the second reader cannot read it": 1}
    assert not wrong
