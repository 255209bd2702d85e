"""Test the texts of a gate of 30 apps for two targets: short, and each cause once."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from sizeguard.builds.sizes import Sizes
from sizeguard.claims.verdict import FAIL, PASS
from sizeguard.gate.causes.growth_result import Cause, SizeGrowth
from sizeguard.gate.gate_result import MEASURED, AppResult, Base, Command, GateResult
from sizeguard.report.gate.render import gate_text
from sizeguard.report.gate.shared import markdown_commands
from sizeguard.report.gate.shared.shared_causes import shared_causes
from sizeguard.report.writers.style import Style
from tests.support.results.gate_samples import check

APPS, TARGETS = 30, ("x86_64-linux", "aarch64-linux")
KINDS = ("reproduce", "see why", "compare", "accept it", "make it normal")


def one(app: str, target: str, more: int, verdict: str) -> AppResult:
    """Make a build that grew; two overloads of one function have the same short name."""
    load = 7_000 + more
    limit = check(app, target, "load", load, load + 9 if verdict == PASS else 7_491, base=7_000)
    causes = (
        *(Cause("(core)", "", "engine::describe", 100, 150 + i, cause="grew") for i in (0, 1)),
        Cause("(core)", "", f"{app}::own", 0, more - 101, cause="added"),
    )
    commands = (Command(kind, f"sizeguard gate --app {app} --target {target}") for kind in KINDS)
    return AppResult(
        app,
        target,
        "gcc-12.2",
        verdict,
        Sizes(load, 0, 9_000, 0),
        None,
        (limit,),
        (),
        (),
        (),
        None,
        old_sizes=Sizes(7_000, 0, 9_000, 0),
        base=MEASURED,
        causes=causes,
        commands=tuple(commands) if verdict == FAIL else (),
        growth_since_base=SizeGrowth(more, 0, 0),
    )


def result(verdict: str) -> GateResult:
    apps = tuple(
        one(f"app{number:02}", target, 700 if number == 17 else 500, verdict)
        for number in range(APPS)
        for target in TARGETS
    )
    return GateResult(verdict, apps, base=Base("4f2a91cdeadbeef", "origin/main"))


def before_details(text: str) -> str:
    """Return what is not folded."""
    return re.sub(r"\n\n<details>.*?</details>", "", text, flags=re.S)


@pytest.mark.parametrize("verdict", [PASS, FAIL])
def test_a_comment_of_thirty_apps_is_short(verdict: str) -> None:
    text = gate_text(result(verdict), "markdown")
    shown = before_details(text)
    assert len(text.encode()) < 65_536 and shown.count("\n") < 60
    assert shown.count("engine::describe") == 1
    assert "in all 60 builds that changed" in shown
    assert "<summary>load of all 60 builds</summary>" in text
    assert "| 50 more |" in shown
    # The largest change comes first
    (first,) = re.findall(r"\|---:\|\n\| (`app\d+`<br>`\S+`)", shown)
    assert first == "`app17`<br>`x86_64-linux`"
    for app in range(APPS):
        for target in TARGETS:
            summary = f"<code>app{app:02}</code> for <code>{target}</code>: {verdict}, all numbers"
            assert summary in text


def test_commands_of_a_build_are_whole() -> None:
    shown = before_details(gate_text(result(FAIL), "markdown"))
    for kind in KINDS:
        assert shown.count(f"# {kind}\n") == (1 if kind == "reproduce" else 2)
    assert "\nsizeguard gate  # reproduce\n" in shown  # of all of them
    assert "# and 232 more for other builds and limits" in shown


@pytest.mark.parametrize(
    ("commands", "shown", "more"),
    [
        # Builds that share all commands
        (("abc", "abc", "abc"), "abc", 0),
        # The second build's own command is with the shared ones
        (("abc", "abcd"), "abcd", 0),
        # The second build's own commands do not fit, so the shared ones are the first build's
        (("abcdefgh", "abcijklm"), "abcdefgh", 5),
        # The third build adds nothing that is not shown
        (("abcdefgh", "ijklm", "abc"), "abcdefgh", 5),
        # More commands of one build than fit
        (("abcdefghijklmnop", "abc"), "abcdefghijkl", 4),
    ],
)
def test_shared_commands_are_shown_once(commands: tuple[str, ...], shown: str, more: int) -> None:
    apps = tuple(
        replace(
            one(f"app{number}", TARGETS[0], 500, FAIL),
            commands=tuple(Command(f"label {each}", f"sizeguard why {each}") for each in names),
        )
        for number, names in enumerate(commands)
    )
    text = gate_text(GateResult(FAIL, apps), "markdown")
    assert re.findall(r"^sizeguard why (\w)  # label \1$", text, re.M) == [*shown]
    left = re.findall(r"^# and (\d+) more for other builds and limits$", text, re.M)
    assert left == ([str(more)] if more else [])


def test_a_build_has_one_cause_of_a_name() -> None:
    causes = shared_causes(result(FAIL).apps)
    assert len(causes[0].builds) == len(causes[0].causes) == APPS * len(TARGETS)
    assert (causes[0].change, causes[0].sizes) == ("+101", ("200", "301"))


def test_equal_lines_of_a_terminal_are_one() -> None:
    lines = gate_text(result(PASS), "terminal", Style(width=100)).splitlines()
    assert [line.split("  load")[0].strip() for line in lines if "load +" in line] == [
        "app00 x86_64-linux and 57 more",
        "app17 x86_64-linux and 1 more",
    ]
    assert sum("✓  load" in line for line in lines) == 12
    assert lines[-1] == "  48 more builds with more room: sizeguard gate --format json"


def test_headings_of_short_names_and_large_numbers_align() -> None:
    apps = [one(app, target, 500, PASS) for app in ("a", "b") for target in ("x", "y")]
    large = [replace(app, sizes=Sizes(10**12, 0, 0, 0)) for app in apps]
    for builds in (apps, large):
        shown = gate_text(GateResult(PASS, tuple(builds)), "terminal", Style(width=100))
        lines = shown.splitlines()
        heading = next(line for line in lines if line.startswith("  load "))
        row = lines[lines.index(heading) + 1]
        marks = [at for at, character in enumerate(row) if character == "✓"]
        assert [heading.index(" x") + 1, heading.index(" y") + 1] == marks
    least = lines.index(next(line for line in lines if line.startswith("  least room ")))
    assert lines[least].index("headroom") + 8 == lines[least + 1].index("  ✓")


def test_a_command_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(markdown_commands, "is_command", lambda text: bool(seen.append(text)))
    gate_text(result(FAIL), "markdown")
    assert len(seen) == 1 + (len(KINDS) - 1) * APPS * len(TARGETS)
