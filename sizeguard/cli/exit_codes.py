"""Exit codes of all commands and words that they show, for the --help of each command."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_DONE = "done"
_USAGE = "wrong usage or configuration, or an unreadable file"
_INTERNAL = "an internal error, or the disk is full"
_BUILD = "a build failed, or an internal error"
_OTHER_LINK = "files of another link, or an unknown name"

# Exit codes of commands that end with a verdict.
BY_VERDICT: Mapping[str, int] = MappingProxyType({"pass": 0, "fail": 1, "inconclusive": 3})

# Command → exit code → meaning. base/errors.py has the errors behind codes 1 to 4.
EXIT_CODES: Mapping[str, Mapping[int, str]] = MappingProxyType(
    {
        "init": {
            0: "written, or checked",
            2: "wrong usage, or a file exists already",
            3: "no build with an image was found",
            4: _INTERNAL,
        },
        "build": {0: "built, or already up to date", 2: _USAGE, 4: _BUILD},
        "import": {
            0: _DONE,
            2: "wrong usage, an unreadable file, or a file that is not a model",
            4: _INTERNAL,
        },
        "codegen": {0: _DONE, 2: _USAGE, 4: _INTERNAL},
        "trace": {0: _DONE, 2: _USAGE, 4: f"a model does not run, {_BUILD}"},
        "record": {0: "recorded", 2: _USAGE, 3: "nothing was linked", 4: _BUILD},
        "select": {2: _USAGE},
        "select ops": {0: _DONE, 2: _USAGE, 4: _INTERNAL},
        "select names": {0: _DONE, 2: _USAGE, 4: _BUILD},
        "select static": {0: _DONE, 2: _USAGE, 3: "evidence is missing", 4: _INTERNAL},
        "select adequacy": {
            0: "the graph reaches everything that the trace saw",
            1: "the trace saw something that the graph does not reach",
            2: _USAGE,
            3: "evidence is missing",
            4: _BUILD,
        },
        "select merge": {0: _DONE, 2: _USAGE, 4: _INTERNAL},
        "select lint": {0: "nothing is wrong", 1: "something is wrong", 2: _USAGE, 4: _INTERNAL},
        "select update": {0: _DONE, 2: _USAGE, 4: f"a model does not run, {_BUILD}"},
        "report": {
            0: "shown",
            2: "wrong usage, an unreadable file, or a filter that matches nothing",
            3: "files of another link",
            4: _INTERNAL,
        },
        "diff": {
            0: "shown, with or without changes, and no --fail-if is true",
            1: "a --fail-if is true",
            2: _USAGE,
            3: "files of another link, or a --fail-if that cannot be decided",
            4: _INTERNAL,
        },
        "predict": {0: "predicted", 2: _USAGE, 3: _OTHER_LINK, 4: _INTERNAL},
        "why": {
            0: "explained, even if it is not in the image",
            2: _USAGE,
            3: "files of another link or none, or an unknown name",
            4: _INTERNAL,
        },
        "doctor": {0: "shown, with or without findings", 2: _USAGE, 4: _INTERNAL},
        "verify": {
            0: "all claims hold",
            1: "a claim fails",
            2: _USAGE,
            3: "evidence is missing, or a name is unknown",
            4: "the verifier is broken (a canary passes), or an internal error",
        },
        "gate": {
            0: "all holds",
            1: "something grew too much, or a model or a claim fails",
            2: _USAGE,
            3: "there is nothing to compare with, or evidence is missing",
            4: _BUILD,
        },
        "history": {
            0: "shown, even if sizes are missing",
            2: _USAGE,
            3: "no git repository, or no commit yet",
            4: _INTERNAL,
        },
        "bisect": {
            0: "measured, whether or not sizes changed",
            2: _USAGE,
            3: "commits cannot be measured",
            4: _BUILD,
        },
        "bisect-step": {
            0: "good",
            1: "bad",
            125: "the commit does not build",
            128: "anything that is not a verdict: git stops and blames no commit",
        },
        "baseline": {2: _USAGE},
        "baseline update": {
            0: _DONE,
            2: _USAGE,
            3: "evidence is missing",
            4: _BUILD,
        },
        "baseline show": {0: _DONE, 2: _USAGE, 4: _INTERNAL},
        "baseline log": {
            0: _DONE,
            2: _USAGE,
            3: "no git repository, or no commit yet",
            4: _INTERNAL,
        },
        "waive": {0: "written", 2: _USAGE, 3: "an unknown metric", 4: _INTERNAL},
        "triage": {0: "explained", 2: "wrong usage, or a line without a known name", 4: _INTERNAL},
        "waivers": {
            0: "listed, and neither --within nor --owners finds any",
            1: "--within finds waivers, or --owners a missing owner",
            2: _USAGE,
            4: _INTERNAL,
        },
        "app": {2: _USAGE},
        "app add": {
            0: "added, and the gate passes",
            1: "added, and the gate fails",
            2: "wrong usage or configuration, or the app exists already",
            3: "added, and the gate is inconclusive",
            4: _BUILD,
        },
        "explain": {0: "explained", 2: "wrong usage, or an unknown word", 4: _INTERNAL},
        "clean": {0: _DONE, 2: _USAGE, 4: _INTERNAL},
        "completion": {0: "printed", 2: _USAGE, 4: _INTERNAL},
    }
)


# Command → words of its output that --help explains, as `sizeguard explain` does.
SHOWN_WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "report": ("load", "ram", "n", "core", "neutral", "–"),
        "diff": ("load", "ram", "core", "neutral", "–"),
        "gate": ("load", "ram", "page_slack", "headroom", "growth", "inconclusive", "not_run"),
        "predict": ("load", "ram", "exclusive", "shared"),
        "verify": ("pass", "fail", "inconclusive"),
        "history": ("load", "ram", "file", "–"),
        "bisect": ("load", "core", "–"),
        "baseline show": ("load", "ram", "file"),
        "waivers": ("load", "growth"),
    }
)


def words_help(command: str) -> str:
    """Return what the words of a command's output mean, as a paragraph like that of exit codes."""
    words = SHOWN_WORDS.get(command, ())
    if not words:
        return ""
    from sizeguard.report.screen.glossary import WORDS  # 1 ms, for commands that show words

    width = max(map(len, words))
    lines = [f"  {word:<{width}}  {WORDS[word].short}" for word in words]
    return "\n".join(("\b", "Words (sizeguard explain says more):", *lines))


def exit_code_help(command: str) -> str:
    """Return the exit codes as a paragraph of --help that click does not wrap."""
    lines = [f"  {code:<4} {what}" for code, what in EXIT_CODES[command].items()]
    return "\n".join(("\b", "Exit codes:", *lines))
