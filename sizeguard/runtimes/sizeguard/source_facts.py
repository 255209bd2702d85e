"""Read the BuildFacts of our runtime: its dispatcher, and the switches listed by the generator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.builds.build_record import Build
from sizeguard.claims.names_file import read_names
from sizeguard.runtimes.build_facts import BuildFacts, Calibration, Dispatch, SwitchSite
from sizeguard.runtimes.sizeguard.kernel_names import CLASS_REGISTRAR
from sizeguard.runtimes.sizeguard.native_tree import built_from, names_file

DISPATCH = Dispatch(
    by_name=("sg::call_words", "sg::find_operator"), by_handle=("sg::call_operator",)
)
HANDLER = "_ZN2sg18dtype_not_selectedERNS_7ContextENS_10ScalarTypeE"
VERBOSE = "verbose_errors"
LISTED = "kernel_tags.json"  # beside the effective selection

# 5.6 to 6.8 bytes per message over the eleven sample models.
_MESSAGE_CODE = 6
_SWITCH_HEAD = 16
_TABLE_CODE, _JUMP = 40, 4
_PER_SWITCH = 128
# With gcc -Os; with clang or -O2 the largest of 44 predictions is off by 1,878, beyond its switches
# by 854.
_UNSEEN, _UNSEEN_ELSEWHERE = 256, 1024
# Features were measured with gcc -Os for x86-64. The rest of expected_outputs has 320 bytes there,
# and 506 with clang -O2. There eleven models without three features are off by 235 to 331.
_FEATURE, _FEATURE_ELSEWHERE = (32, 12), (128, 50)


def read_build_facts(build: Build, selection: Path) -> BuildFacts:
    """Read the facts about the sources that codegen wrote beside the effective selection.

    Raises InconclusiveError if a build has no such file.
    """
    is_usual = build.toolchain.startswith("gcc") and build.optimize == "s"
    unseen = _UNSEEN if is_usual else _UNSEEN_ELSEWHERE
    is_measured = is_usual and build.target == "x86_64-linux"
    feature = _FEATURE if is_measured else _FEATURE_ELSEWHERE
    listed = read_listed(selection.parent / LISTED)
    return BuildFacts(
        runtime="sizeguard",
        dispatch=DISPATCH,
        switches=listed.switches,
        guards=listed.guards,
        verbose_texts=listed.verbose_texts,
        verbose_feature=VERBOSE,
        features=read_names(names_of_build(build)).features,
        handler=HANDLER,
        calibration=Calibration(
            _MESSAGE_CODE,
            _SWITCH_HEAD,
            _TABLE_CODE,
            _JUMP,
            _PER_SWITCH,
            unseen,
            None if build.lto else feature,
            is_usual,
        ),
        class_registrar=CLASS_REGISTRAR,
    )


def names_of_build(build: Build) -> Path:
    """Return the names in the sources of a build, or those in this package."""
    return names_file(built_from(build.image.parent))


class ListedSites(NamedTuple):
    """Dtype switches, guards and verbose texts in the sources of a build's kernels."""

    switches: tuple[SwitchSite, ...]
    guards: tuple[SwitchSite, ...]
    verbose_texts: frozenset[str]


def read_listed(path: Path) -> ListedSites:
    """Read kernel_tags.json.

    Raises InconclusiveError if the file is missing, InputError if it is damaged.
    """
    try:
        content = json.loads(path.read_text())
    except OSError as error:
        raise InconclusiveError(
            f"{path}: cannot read: {error.strerror}; build again, because predictions need it"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON: {error}") from error
    try:
        switches, guards = (
            tuple(
                SwitchSite(str(tag), str(use["file"]), str(use["function"]))
                for tag, uses in content[key].items()
                for use in uses
            )
            for key in ("tags", "guards")
        )
        return ListedSites(switches, guards, frozenset(map(str, content["verbose_texts"])))
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not a list of dtype switches ({error})") from error
