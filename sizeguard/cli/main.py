"""The entry point of the command line: find the command, run it, print its error.

Commands are found by name and imported when called.
"""

from __future__ import annotations

import os
import sys

import click

from sizeguard import __version__
from sizeguard.base.tuning import prepare_numpy, skip_last_collection
from sizeguard.cli import COMPLETION
from sizeguard.cli.error_lines import DEBUG, print_error
from sizeguard.cli.lazy_group import LazyGroup
from sizeguard.cli.streams import prepare_streams

# heading in --help → name → module in sizeguard.cli, one-line help
SECTIONS = {
    "Sizes": {
        "report": ("measure.report", "Show where the bytes of a binary went."),
        "diff": ("measure.diff", "Show what changed between two binaries, and why."),
        "why": ("measure.why", "Show what keeps something in the image."),
        "doctor": (
            "measure.doctor",
            "Show bytes that an image does not need, and how to remove them.",
        ),
        "history": ("measure.size_history", "Show the sizes of releases or commits over time."),
        "bisect": ("judge.bisect", "Find every commit that changed the size."),
        "bisect-step": ("judge.bisect_step", "Judge one commit, for git bisect run."),
        "record": ("build.record", "Run a build and record each link, for why, verify and report."),
    },
    "Gate": {
        "init": ("setup.init", "Write sizeguard.yaml and the CI file for an existing build."),
        "baseline": (
            "judge.baseline",
            "Update or show the reviewed sizes in baselines/, or their history.",
        ),
        "gate": (
            "judge.gate",
            "Build, run, measure and compare with the merge base and the policy.",
        ),
        "verify": (
            "judge.verify",
            "Prove that deselected code is absent and selected code is present.",
        ),
        "waive": ("judge.waive", "Allow a metric more bytes than its limits, for a time."),
        "waivers": ("judge.list_waivers", "List the waivers, and those that end soon."),
    },
    "Runtime and models": {
        "import": ("build.import_model", "Convert a .pt2 model to a program (.sgp)."),
        "select": ("select.sub_commands", "Read, merge and check operator selections."),
        "trace": (
            "build.trace",
            "Run models on the instrumented build, and write the parts that they used.",
        ),
        "build": (
            "build.build",
            "Build a variant of the runtime: full, instrumented, core or selective.",
        ),
        "predict": (
            "measure.predict",
            "Predict the size of a selection from the full build, without building.",
        ),
        "app": ("setup.app_commands", "Add an app for models: trace, select, review, gate."),
        "triage": (
            "setup.triage",
            "Explain an error that a device reports about a missing operator.",
        ),
        "codegen": ("build.codegen", "Write registration sources and selection headers."),
    },
    "Other commands": {
        "explain": ("setup.explain", "Explain a word of the reports: load, core, inconclusive …"),
        "clean": (
            "setup.clean",
            "Show the store of measurements, and enforce its limits.",
        ),
        "completion": ("completion", "Print the script that makes a shell complete command lines."),
    },
}
COMMANDS = {name: each for part in SECTIONS.values() for name, each in part.items()}


@click.group(
    cls=LazyGroup,
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="sizeguard")
@click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    help=f"Print the traceback of an error, as {DEBUG}=1 does.",
)
def cli() -> None:
    """Show where every byte of a binary went, and block changes that make it grow.

    Also builds a C++ inference runtime with only the parts that your models use.

    Example: sizeguard report /bin/ls --by section,symbol
    """


def main() -> None:
    """Run the command line.

    Every error is one line on stderr, and the process ends with its exit code.
    """
    try:
        prepare_streams()
        prepare_numpy()
        code = _run(_without_debug(sys.argv[1:]))
        sys.stdout.flush()
    # The only place that catches every exception: each becomes one line and an exit code.
    except BaseException as error:
        if isinstance(error, SystemExit | GeneratorExit):
            raise
        code = print_error(error)
        _drop_output()
    skip_last_collection()
    sys.exit(code)


def _without_debug(arguments: list[str]) -> list[str]:
    """Remove --debug from the arguments before `--`, and set its variable.

    The processes that a command starts inherit the variable.
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    if "--debug" in arguments[:end]:
        os.environ[DEBUG] = "1"
    return [word for word in arguments[:end] if word != "--debug"] + arguments[end:]


def _run(arguments: list[str]) -> int:
    """Run a command; return its exit code."""
    if COMPLETION in os.environ:
        # Imported here: `sizeguard --help` takes 0.05 s; with the imports of all commands, 0.6 s.
        from sizeguard.cli.completion import answer

        return answer(cli, os.environ[COMPLETION])
    if arguments[:1] == ["bisect-step"] and {"-h", "--help"}.intersection(arguments):
        arguments = ["bisect-step", "--help"]
    elif arguments[:1] == ["bisect-step"]:
        # Imported here: `sizeguard --help` takes 0.05 s; with the imports of all commands, 0.6 s.
        from sizeguard.cli.judge.bisect_step import supervise

        return supervise(arguments[1:])
    try:
        with cli.make_context("sizeguard", arguments) as context:
            cli.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.UsageError as error:
        if error.ctx is None:  # the option parser gives no context
            error.ctx = _context(arguments)
        # Imported here: it takes 3 ms, and only invalid command lines need it.
        from sizeguard.cli.usage_errors import ARGUMENTS

        error.ctx.meta[ARGUMENTS] = arguments
        raise
    return 0


def _context(arguments: list[str]) -> click.Context:
    """Find the command that the arguments begin with, for the hint in an error."""
    context = click.Context(cli, info_name="sizeguard")
    for word in arguments:
        group = context.command
        command = group.get_command(context, word) if isinstance(group, click.Group) else None
        if command is None:
            break
        context = click.Context(command, parent=context, info_name=word)
    return context


def _drop_output() -> None:
    """Discard unprinted output, because Python would complain at exit that it cannot write it."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
