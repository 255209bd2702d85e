"""The block of a comment with the commands that help with builds that fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sizeguard.claims.verdict import PASS
from sizeguard.gate.gate_result import REPRODUCE, Command
from sizeguard.report.gate.comment_blocks import Block, short_message
from sizeguard.report.gate.gate_words import todo
from sizeguard.report.gate.shared.build_findings import BuildFindings
from sizeguard.report.gate.shared.shared_findings import for_all_builds
from sizeguard.report.writers.markdown import fenced_commands, is_command, prose

_COMMANDS = 12  # lines of commands to show


def commands_of_builds(builds: Sequence[BuildFindings]) -> Iterator[Block]:
    """Write the commands of all builds that fail, each once; one command reproduces all of them."""
    failing = [todo(build.app, build.found) for build in builds if build.verdict != PASS]
    if sum(any(each.label == REPRODUCE for each in commands) for commands in failing) > 1:
        failing = [[*map(_of_all, commands)] for commands in failing]
    runs: dict[Command, bool] = {}  # command → whether a shell can run its text
    ends, number = [], 0  # numbers of commands that run, after each build
    for commands in failing:
        for command in commands:
            if command not in runs:
                runs[command] = is_command(command.text)
                number += runs[command]
        ends.append(number)
    yield from _runnable([command for command in runs if runs[command]], ends)
    rest = [command for command in runs if not runs[command]]
    if rest:
        label = [
            f"- {f'{prose(command.label)}: ' if command.label else ''}"
            f"{prose(short_message(command.text))}"
            for command in rest[:_COMMANDS]
        ]
        yield Block(2, [""], label)


def _of_all(command: Command) -> Command:
    """Leave the app and the target out of a command that gates."""
    if command.label != REPRODUCE:
        return command
    return replace(command, text=for_all_builds(command.text))


def _runnable(runnable: Sequence[Command], ends: Sequence[int]) -> Iterator[Block]:
    """Write commands for a shell. ends: their number after each build."""
    if not runnable:
        return
    # The commands of a build stay together. If the first build has too many, some are left out.
    room = max((end for end in ends if 0 < end <= _COMMANDS), default=_COMMANDS)
    lines = [
        f"{command.text}{f'  # {command.label}' if command.label else ''}"
        for command in runnable[:room]
    ]
    if len(runnable) > room:
        lines.append(f"# and {len(runnable) - room:,} more for other builds and limits")
    title = "**Do one of**" if len(lines) > 1 else "**Next steps**"
    yield Block(1, ["", title, "", *fenced_commands(lines)])
