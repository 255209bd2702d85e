"""Completions that shells offer for a command line."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.attribution.levels import LEVELS
from sizeguard.cli import COMPLETION
from sizeguard.cli.completion import SHELLS, answer
from sizeguard.cli.main import COMMANDS, cli
from sizeguard.measurement.metric_kinds import NAMED, TOTALS
from sizeguard.projects.reader import read_config
from sizeguard.report.result_formats import GATE_FORMATS, SIZE_FORMATS
from sizeguard.runtimes.known import NAMES, library
from sizeguard.runtimes.runtime import LINKS, LTO, OPTIMIZATIONS, VARIANTS
from sizeguard.toolchains.targets import TARGETS
from sizeguard.toolchains.toolchain import COMPILERS, LINKERS
from tests.support.drawn import at_least
from tests.support.places import SIZEGUARD

pytestmark = pytest.mark.native

BREAKS = " \t\n\"'><=;|&(:"  # Bash's default word separators


def ask(question: str, line: str, cwd: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the command as the completion script of a shell does."""
    words = line.split(" ")
    variables = {
        COMPLETION: question,
        "COMP_LINE": line,
        "COMP_BREAKS": BREAKS,
        "COMP_WORDS": line,
        "COMP_CWORD": words[-1] if question.startswith("fish") else str(len(words) - 1),
    }
    return subprocess.run(
        [sys.executable, *options, "-m", "sizeguard"],
        cwd=cwd,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def offered(line: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the candidates for Bash in the current folder."""
    monkeypatch.setenv("COMP_LINE", line)
    monkeypatch.setenv("COMP_BREAKS", BREAKS)
    text = SHELLS["bash"](cli, {}, "sizeguard", COMPLETION).complete()
    return [each.partition(",")[2] for each in text.split("\n") if each]


OPERATORS = list(library(None))


@pytest.mark.parametrize(
    ("line", "candidates"),
    [
        ("sizeguard ", list(COMMANDS)),
        ("sizeguard ba", ["baseline"]),
        ("sizeguard bisect", ["bisect", "bisect-step"]),
        ("sizeguard select l", ["lint"]),
        ("sizeguard baseline ", ["log", "show", "update"]),
        ("sizeguard report --so", ["--sort"]),
        ("sizeguard report --by ", list(LEVELS)),
        ("sizeguard report --by=", list(LEVELS)),
        ("sizeguard diff a b --by operator,k", ["operator,kernel", "operator,kind"]),
        ("sizeguard report --by operator,oper", []),
        ("sizeguard report --filter o", ["operator=", "object=", "owner="]),
        ("sizeguard report --filter operator=aten::relu", ["relu", "relu_"]),
        ("sizeguard report --filter=operator=aten::relu", ["relu", "relu_"]),
        ("sizeguard report --filter symbol=", []),
        ("sizeguard report --format ", list(SIZE_FORMATS)),
        ("sizeguard gate --format=", list(GATE_FORMATS)),
        ("sizeguard gate --also s", ["sarif="]),
        ("sizeguard report --preset ", ["auto", *NAMES]),
        (
            "sizeguard why build/full aten::ge",
            [n[6:] for n in OPERATORS if n.startswith("aten::ge")],
        ),
        ("sizeguard why build/full 'aten::relu", ["relu", "relu_"]),
        ("sizeguard predict --add aten::gel", ["gelu"]),
        ("sizeguard build ", list(VARIANTS)),
        ("sizeguard build full --target ", list(TARGETS)),
        ("sizeguard build full --compiler ", list(COMPILERS)),
        ("sizeguard build full --linker ", list(LINKERS)),
        ("sizeguard build full --link ", list(LINKS)),
        ("sizeguard build full --lto ", list(LTO)),
        ("sizeguard build full -O ", list(OPTIMIZATIONS)),
        ("sizeguard bisect a b --metric ", [*TOTALS, *(f"{kind}/" for kind in NAMED)]),
        ("sizeguard waive operator/aten::gel", ["gelu"]),
        ("sizeguard completion ", ["bash", "zsh", "fish"]),
        ("sizeguard nowhere ", list(COMMANDS)),
    ],
)  # fmt: skip
def test_candidates(
    line: str, candidates: list[str], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    assert offered(line, monkeypatch) == candidates


@pytest.mark.parametrize(
    "command", ["gate", "baseline update", "select update", "predict", "waive load", "build full",
                "bisect a b"]
)  # fmt: skip
def test_apps_are_those_of_the_project(
    command: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root / "native")
    config = read_config(root)
    assert offered(f"sizeguard {command} --app ", monkeypatch) == [app.name for app in config.apps]
    (tmp_path / "sizeguard.yaml").write_text(
        "apps:\n  shop: {selection: s.yaml, models: []}\n  desk: {selection: s.yaml, models: []}\n"
    )
    monkeypatch.chdir(tmp_path)
    assert offered(f"sizeguard {command} --app ", monkeypatch) == ["shop", "desk"]
    assert offered(f"sizeguard {command} --app=d", monkeypatch) == ["desk"]


@pytest.mark.parametrize("command", ["gate", "baseline update", "waive load"])
def test_targets_are_those_of_the_project(
    command: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    names = [target.name for target in read_config(root).targets]
    assert offered(f"sizeguard {command} --target ", monkeypatch) == names


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_whole_candidates(shell: str, root: Path) -> None:
    done = ask(f"{shell}_complete", "sizeguard why build/full aten::relu", root)
    assert (done.returncode, done.stderr) == (0, "")
    words = done.stdout.replace(",", "\n").split("\n")
    assert [word for word in words if "relu" in word] == ["aten::relu", "aten::relu_"]


def in_bash(script: str, line: str, cwd: Path) -> list[str]:
    """Complete a line in a Bash with the script; return COMPREPLY."""
    done = subprocess.run(
        [
            "bash",
            "--norc",
            "-c",
            f"{script}\nCOMP_LINE={shlex.quote(line)}; COMP_POINT=${{#COMP_LINE}}\n"
            f"COMP_WORDBREAKS={shlex.quote(BREAKS)}\n"
            f'compopt() {{ COMPREPLY+=("($*)"); }}\n'
            f"_sizeguard_completion {shlex.quote(str(SIZEGUARD))}\n"
            "printf '%s\\n' \"${COMPREPLY[@]}\"",
        ],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_bash_itself(root: Path) -> None:
    script = CliRunner().invoke(cli, ["completion", "bash"]).output
    assert script.startswith("_sizeguard_completion() {")
    apps = ["vision", "language", "shared.vision", "shared.language"]
    assert in_bash(script, "sizeguard gate --app ", root) == apps
    assert in_bash(script, "sizeguard why build/full aten::relu", root) == ["relu", "relu_"]
    assert in_bash(script, "sizeguard waive oper", root) == ["operator/", "(-o nospace)"]
    assert in_bash(script, "sizeguard report nat", root) == ["(-o default)"]
    assert in_bash(script, "sizeguard gate --app v and more", root) == [""]


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts(shell: str) -> None:
    done = CliRunner().invoke(cli, ["completion", shell])
    assert done.exit_code == 0
    assert f"{COMPLETION}={shell}_complete" in done.output


@pytest.mark.parametrize(
    "question",
    ["", "bash", "bash_", "_complete", "tcsh_complete", "bash_explode", "bash_complete_", "\n"],
)
def test_what_no_shell_asks_has_no_answer(question: str, tmp_path: Path) -> None:
    done = ask(question, "sizeguard ", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_that_says_nothing_gets_no_message(shell: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sizeguard"],
        cwd=tmp_path,
        env=os.environ | {COMPLETION: f"{shell}_complete"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stdout + done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize(
    "text", ["apps: [", "apps: {}", "apps: {a: 1}", "\0", "apps:\n  a: {selection: /x, models: []}"]
)
def test_a_damaged_project_has_no_candidates(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sizeguard.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert offered("sizeguard gate --app ", monkeypatch) == []
    assert offered("sizeguard gate --target ", monkeypatch) == []


def test_damaged_operators_are_no_candidates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in ("CMakeLists.txt", "runtime/a.h", "operators/operators.yaml"):
        (tmp_path / "native" / part).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "native" / part).write_text("- func: nothing that is a schema")
    monkeypatch.chdir(tmp_path)
    assert offered("sizeguard why build/full aten", monkeypatch) == []


def test_a_folder_that_is_gone_is_no_error(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", f"rm -r {gone}; exec {shlex.quote(sys.executable)} -P -m sizeguard"],
        cwd=gone,
        env=os.environ | {COMPLETION: "bash_complete", "COMP_LINE": "sizeguard gate --app "},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) in (("\n", ""), ("", ""))


@pytest.mark.parametrize(
    "line",
    ["sizeguard ", "sizeguard report --by ", "sizeguard gate --app ", "sizeguard gate --target ",
     "sizeguard waive ", "sizeguard gate --format ", "sizeguard why b aten::re"],
)  # fmt: skip
def test_candidates_need_no_numpy(line: str, root: Path) -> None:
    """Importing numpy takes 0.2 s, longer than the rest of the completion."""
    done = ask("bash_complete", line, root, "-X", "importtime")
    assert done.returncode == 0
    assert done.stdout
    assert "numpy" not in done.stderr


WORDS = st.sampled_from(
    [
        "--by",
        "--app",
        "--",
        "-",
        "=",
        "--app=",
        "aten::",
        "operator=",
        "a,b",
        "'",
        '"',
        "\\",
        "☃",
        "",
        *COMMANDS,
        *(str(name) for name in cli.commands),
    ]
)


@given(words=st.lists(WORDS, max_size=6), shell=st.sampled_from(list(SHELLS)))
@at_least(80)
def test_no_line_fails(words: Sequence[str], shell: str) -> None:
    line = " ".join(["sizeguard", *words])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMP_LINE", line)
        patch.setenv("COMP_WORDS", line)
        patch.setenv("COMP_CWORD", (words or [""])[-1] if shell == "fish" else str(len(words)))
        asked: ShellComplete = SHELLS[shell](cli, {}, "sizeguard", COMPLETION)
        if shell != "fish" or "'" not in line:  # an unclosed quote is not a word in fish
            asked.complete()
        assert answer(cli, f"{shell}_complete") in (0, 1)


def test_every_command_completes_its_options(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    monkeypatch.chdir(root)
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        expected = {
            option
            for parameter in command.get_params(context)
            if isinstance(parameter, click.Option)
            for option in (*parameter.opts, *parameter.secondary_opts)
            if option.startswith("--")
        }
        assert set(offered(f"sizeguard {name} --", monkeypatch)) == expected


def test_an_error_is_that_of_any_command(root: Path, tmp_path: Path) -> None:
    broken = (
        "from sizeguard.cli import completion, main\n"
        "def complete(self): raise KeyError('odd')\n"
        "completion.SHELLS['bash'].complete = complete\n"
        "main.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", broken],
        cwd=root,
        env=os.environ | {COMPLETION: "bash_complete", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    (log,) = tmp_path.glob("sizeguard-*.log")
    assert done.returncode == 4
    assert done.stdout == ""
    assert done.stderr == f"error: internal error: KeyError: 'odd'; log: {log}\n"
    for shell in ("zsh", "fish", "bash"):
        script = CliRunner().invoke(cli, ["completion", shell]).output
        assert script.count("2>/dev/null") == 1
