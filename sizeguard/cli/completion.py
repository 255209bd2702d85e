"""Complete command lines: print the script for a shell, and answer the shell's requests."""

from __future__ import annotations

import os

import click
from click.shell_completion import (
    BashComplete,
    FishComplete,
    ShellComplete,
    ZshComplete,
    split_arg_string,
)

from sizeguard.cli import COMPLETION

PROGRAM = "sizeguard"
_LINE = {"COMP_WORDS", "COMP_CWORD"}  # variables in which zsh and fish pass what was typed


class WholeLineBash(BashComplete):
    """Completion for Bash from the whole command line.

    Bash splits aten::add at the colons and operator=a at the equals sign. The words that it passes
    do not show where the spaces were, and a candidate replaces only the last part.
    """

    source_template = """\
%(complete_func)s() {
    local response completion value
    response=$(env COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_BREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete "$1" 2>/dev/null) || return
    while IFS= read -r completion; do
        value=${completion#*,}
        case ${completion%%%%,*} in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                COMPREPLY+=("$value")
                if [[ $value == *[=/] ]]; then compopt -o nospace; fi
                ;;
        esac
    done <<<"$response"
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def source(self) -> str:
        """Fill in the script.

        click's own method runs Bash to check its version; this one does not need Bash.
        """
        return ShellComplete.source(self)

    def get_completion_args(self) -> tuple[list[str], str]:
        """Split the line that was typed so far."""
        line = os.environ.get("COMP_LINE", "")
        words = split_arg_string(line)
        incomplete = words.pop() if len(words) > 1 and not line[-1].isspace() else ""
        return words[1:], incomplete

    def complete(self) -> str:
        """Strip from each candidate the part that Bash treats as an earlier word."""
        args, incomplete = self.get_completion_args()
        items = self.get_completions(args, incomplete)
        breaks = [mark for mark in ":=" if mark in os.environ.get("COMP_BREAKS", ":=")]
        value = incomplete.partition("=")[2] if incomplete.startswith("-") else incomplete
        kept = value[: max((value.rfind(mark) for mark in breaks), default=-1) + 1]
        return "\n".join(f"{item.type},{item.value.removeprefix(kept)}" for item in items)


class QuietZsh(ZshComplete):
    """Completion for Zsh that discards messages; they would appear in the user's command line."""

    source_template = ZshComplete.source_template.replace(
        "=zsh_complete %(prog_name)s", "=zsh_complete %(prog_name)s 2>/dev/null"
    )


class QuietFish(FishComplete):
    """Completion for Fish that discards messages and accepts unfinished words."""

    source_template = FishComplete.source_template.replace(
        "(commandline -t) %(prog_name)s", "(commandline -t) %(prog_name)s 2>/dev/null"
    )

    def get_completion_args(self) -> tuple[list[str], str]:
        """Split the line that was typed so far."""
        last = os.environ["COMP_WORDS"], os.environ["COMP_CWORD"]
        args, begun = split_arg_string(last[0])[1:], split_arg_string(last[1])
        incomplete = begun[0] if begun else last[1]
        # Fish puts the partial word into both variables.
        if incomplete and args and args[-1] == incomplete:
            args.pop()
        return args, incomplete


SHELLS: dict[str, type[ShellComplete]] = {
    "bash": WholeLineBash,
    "zsh": QuietZsh,
    "fish": QuietFish,
}


def answer(cli: click.Command, question: str) -> int:
    """Answer a shell's request: print the candidates for a line, or the completion script.

    The exit code is 1 for an unknown request or a missing line. An error ends the process like an
    error of any command; the scripts discard its message, because it would appear in the user's
    command line.
    """
    shell, _, what = question.partition("_")
    if shell not in SHELLS or what not in ("complete", "source"):
        return 1
    if what == "complete" and shell != "bash" and not os.environ.keys() >= _LINE:
        return 1
    asked = SHELLS[shell](cli, {}, PROGRAM, COMPLETION)
    click.echo(asked.complete() if what == "complete" else asked.source())
    return 0


@click.command()
@click.argument("shell", metavar="SHELL", type=click.Choice(list(SHELLS)))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the script that makes a shell complete commands, options and their values.

    Values include apps, targets, operators and levels of the project in the current folder.

    \b
    Examples:
      eval "$(sizeguard completion bash)"      in ~/.bashrc
      eval "$(sizeguard completion zsh)"       in ~/.zshrc, after compinit
      sizeguard completion fish > ~/.config/fish/completions/sizeguard.fish
    """
    cli = context.find_root().command
    click.echo(SHELLS[shell](cli, {}, PROGRAM, COMPLETION).source(), nl=False)
