"""The entry of the command line: find the command, run it, print its error.

Commands are found by name and imported when called.
"""

from __future__ import annotations

import os
import sys

import click

from sizeguard import __version__
from sizeguard.base.errors import SizeguardError
from sizeguard.base.tuning import prepare_numpy
from sizeguard.cli.error_lines import print_error
from sizeguard.cli.lazy_group import LazyGroup

COMPLETION = "_SIZEGUARD_COMPLETE"  # the variable in which a shell asks for candidates

# name → module in sizeguard.cli, one-line help
COMMANDS = {
    "build": (
        "build.build",
        "Build a variant of the runtime: full, instrumented, core or selective.",
    ),
    "import": ("build.import_model", "Turn a .pt2 model into a program (.sgp)."),
    "codegen": ("build.codegen", "Write registration sources and selection headers."),
    "trace": ("build.trace", "Run models on the instrumented build and write what they used."),
    "select": ("select.sub_commands", "Read, merge and check operator selections."),
    "report": ("measure.report", "Show where the bytes of a binary went."),
    "diff": ("measure.diff", "Show what changed between two binaries, and why."),
    "predict": (
        "measure.predict",
        "Predict the size of a selection from the full build, without building.",
    ),
    "why": ("measure.why", "Show what keeps something in the image."),
    "verify": (
        "judge.verify",
        "Prove that what was deselected is gone and what was selected is there.",
    ),
    "gate": ("judge.gate", "Build, run, measure and compare with the merge base and the policy."),
    "bisect": ("judge.bisect", "Find every commit that moved the size."),
    "bisect-step": ("judge.bisect_step", "Judge one commit, for git bisect run."),
    "baseline": (
        "judge.baseline",
        "Update or show the reviewed sizes in baselines/, or what they were.",
    ),
    "waive": ("judge.waive", "Let a metric have more bytes than its limits say, for a time."),
    "completion": ("completion", "Print the script that makes a shell complete command lines."),
}


@click.group(
    cls=LazyGroup,
    commands_by_name=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="sizeguard")
def cli() -> None:
    """Build a C++ inference runtime in full and selectively, and gate its size.

    It says where every byte went, and gates what regrows it.

    Example: sizeguard report build/vision --by operator
    """


def main() -> None:
    """Run the command line.

    Every expected error is one line on stderr, and the process ends with its exit code.
    """
    prepare_numpy()
    if COMPLETION in os.environ:
        # Imported on call: `sizeguard --help` takes 0.05 s, with the imports of all commands 0.6 s.
        from sizeguard.cli.completion import answer

        sys.exit(answer(cli, os.environ[COMPLETION]))
    if sys.argv[1:2] == ["bisect-step"]:
        # Imported on call: `sizeguard --help` takes 0.05 s, with the imports of all commands 0.6 s.
        from sizeguard.cli.judge.bisect_step import supervise

        sys.exit(supervise(sys.argv[2:]))
    try:
        # Outside of its standalone mode click returns the code that a command ends with.
        code = cli.main(prog_name="sizeguard", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except (SizeguardError, click.ClickException, click.Abort) as error:
        sys.exit(print_error(error))
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except BrokenPipeError:
        # The reader of our output (head, less) has closed it: not an error. Python would complain
        # at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        # Output that could not be written is an error. Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        click.echo(f"error: {error.filename or 'output'}: {error.strerror}", err=True)
        sys.exit(4)


if __name__ == "__main__":
    main()
