"""Turns a command line into a call of one command.

Commands are found by file name and imported when called: `sizeguard --help` must not wait for numpy.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import click

from sizeguard import __version__
from sizeguard.errors import SizeguardError

# name -> module in sizeguard.cli, one-line help
COMMANDS = {
    "build": ("build", "Build a variant of the runtime: full, instrumented, core or selective."),
    "import": ("import_model", "Turn a .pt2 model into a program (.sgp)."),
    "codegen": ("codegen", "Write registration sources and selection headers."),
    "trace": ("trace", "Run models on the instrumented build and write what they used."),
    "select": ("select", "Read, merge and check operator selections."),
    "report": ("report", "Show where the bytes of a binary went."),
    "diff": ("diff", "Show what changed between two binaries, and why."),
    "predict": ("predict", "Predict the size of a selection from the full build, without building."),
    "why": ("why", "Show what keeps something in the image."),
    "verify": ("verify", "Prove that what was deselected is gone and what was selected is there."),
    "gate": ("gate", "Build, run, measure and compare with the merge base and the policy."),
    "bisect": ("bisect", "Find every commit that moved the size."),
    "bisect-step": ("bisect_step", "Judge one commit, for git bisect run."),
    "baseline": ("baseline", "Update or show the reviewed sizes in baselines/, or what they were."),
    "waive": ("waive", "Let a metric have more bytes than its limits say, for a time."),
}


class LazyGroup(click.Group):
    """A group that imports a command's file when the command is called, not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"sizeguard.cli.{COMMANDS[cmd_name][0]}").command
        if not isinstance(command, click.Command):
            raise TypeError(f"sizeguard.cli.{COMMANDS[cmd_name][0]}.command is no click command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sizeguard")
def cli() -> None:
    """Builds a C++ inference runtime in full and selectively, says where every byte went, and gates what regrows it.

    Example: sizeguard report build/vision --by operator
    """


def print_error(error: SizeguardError | click.ClickException | click.Abort) -> int:
    """One line on stderr; the exit code."""
    if isinstance(error, click.Abort):
        click.echo("interrupted", err=True)
        return 130
    text = error.format_message() if isinstance(error, click.ClickException) else str(error)
    click.echo(f"error: {text}", err=True)
    return error.exit_code if isinstance(error, SizeguardError) else 2


def _prepare_numpy() -> None:
    """Must come before numpy is imported; who sets these variables decides."""
    # Of numpy we use no linear algebra; the threads that its library would start cost 40 ms.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Numpy asks for huge pages. Virtual machines that give free ones back to their host, as those of CI do, fetch each anew:
    # a report of libtensorflow_cc.so.2 took 3.4 s with them and 2.9 without, one of libtorch_cpu.so 0.74 (0.66 to 0.79) and 0.71.
    os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")
    about = Path("/proc/cpuinfo")
    if "NPY_DISABLE_CPU_FEATURES" in os.environ or not about.exists():
        return
    with about.open("rb") as file:
        cpu = file.read(1 << 12)
    # AMD's Zen 4 has AVX-512, but its store of chosen lanes, of which numpy's sorts are made, is slow:
    # half a million int64 take 27 ms, with AVX2 6. The names are those of numpy 2.4 and before.
    if b"AuthenticAMD" in cpu and b" avx512f " in cpu:
        os.environ.setdefault("NPY_ENABLE_CPU_FEATURES", "X86_V3 AVX2 FMA3 AVX F16C SSE42 POPCNT SSE41 SSSE3 SSE3")


def main() -> None:
    """Run the command line; every foreseen error is one line on stderr and its exit code."""
    _prepare_numpy()
    if sys.argv[1:2] == ["bisect-step"]:
        from sizeguard.cli.bisect_step import supervise

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
        # The reader of our output (head, less) has gone: not an error of ours. Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        # What could not be printed or kept was not said: that is no success. Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        click.echo(f"error: {error.filename or 'output'}: {error.strerror}", err=True)
        sys.exit(4)


if __name__ == "__main__":
    main()
