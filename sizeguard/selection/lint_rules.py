"""Check selection files against the operators and dtype switches of the runtime.

An error is an entry that cannot have the effect that it states; a build refuses it. A warning is an
entry that keeps more than it seems to.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from sizeguard.operators.dtypes import CODES
from sizeguard.operators.name import family_of
from sizeguard.selection.finding import Level, LintFinding
from sizeguard.selection.read import SelectionFile

_SHOWN = 4  # names in a message


class HasPlace(Protocol):
    """The place of a dtype switch in the sources."""

    @property
    def file(self) -> Path:
        """The source file."""
        ...

    @property
    def line(self) -> int:
        """The line, from 1."""
        ...


def lint(
    files: Sequence[SelectionFile],
    operators: Collection[str],
    switches: Mapping[str, Sequence[HasPlace]] | None,
) -> tuple[LintFinding, ...]:
    """List all findings by file and line; then those of the files together.

    operators: the names that the runtime has
    switches:  kernel tag → the switches with that tag; None if the runtime's sources are not here
    """
    findings: list[LintFinding] = []
    for file in files:
        own = [
            *file.findings,
            *_names(file, operators),
            *(_tags_unknown(file) if switches is None else _tags(file, switches)),
            *_dtypes(file),
            *_dtype_selection(file),
        ]
        findings += sorted(own, key=lambda finding: (finding.line, finding.check, finding.message))
    return (*findings, *_together(files))


def has_errors(findings: Iterable[LintFinding], *, strict: bool) -> bool:
    """Tell whether there are errors; strict: warnings count, too."""
    counted = (Level.ERROR, Level.WARNING) if strict else (Level.ERROR,)
    return any(finding.level in counted for finding in findings)


def _names(file: SelectionFile, operators: Collection[str]) -> Iterator[LintFinding]:
    families: dict[str, list[str]] = {}
    for name in operators:
        families.setdefault(family_of(name), []).append(name)
    not_stated = {finding.line for finding in file.findings if finding.check == "inclusive-default"}
    for name, entry in file.selection.operators.items():
        line = file.line("operators", name)
        if "::" not in name:
            message = (
                f"{name or 'an empty name'} has no namespace, so it matches nothing; write"
                f" aten::{name or 'add'}"
            )
            yield LintFinding(file.name, line, Level.ERROR, "no-namespace", message)
        elif name in operators or (entry.include_all_overloads and name in families):
            if "." in name and entry.include_all_overloads and line not in not_stated:
                message = (
                    f"include_all_overloads of {name} has no effect: the name has an overload;"
                    f" {family_of(name)} stands for all"
                )
                yield LintFinding(file.name, line, Level.WARNING, "inert-overloads", message)
        elif file.selection.et_kernel_metadata:
            # An operator of ExecuTorch's libraries, whose lists are not here: see its kernel keys.
            if not file.selection.et_kernel_metadata.get(name):
                message = (
                    f"{name} has no kernel key in et_kernel_metadata: ExecuTorch registers no"
                    " kernel for it"
                )
                yield LintFinding(file.name, line, Level.WARNING, "no-kernel-key", message)
        else:
            overloads = sorted(families.get(name, ()))
            near = overloads[:_SHOWN] or difflib.get_close_matches(name, sorted(operators), n=2)
            advice = f"; nearest: {', '.join(near)}" if near else ""
            yield LintFinding(
                file.name, line, Level.ERROR, "unknown-operator", f"unknown operator {name}{advice}"
            )


def _tags(file: SelectionFile, switches: Mapping[str, Sequence[HasPlace]]) -> Iterator[LintFinding]:
    for tag in file.selection.kernel_metadata:
        line = file.line("kernel_metadata", tag)
        if tag not in switches:
            near = difflib.get_close_matches(tag, sorted(switches), n=2)
            advice = f"; nearest: {', '.join(near)}" if near else ""
            yield LintFinding(
                file.name,
                line,
                Level.ERROR,
                "unknown-tag",
                f"kernel tag {tag} matches no dtype switch{advice}",
            )
        kernels = sorted({use.file.as_posix() for use in switches.get(tag, ())})
        if len(kernels) > 1:
            message = (
                f"kernel tag {tag} is shared by {', '.join(kernels[:_SHOWN])}: what one of them"
                " needs is kept in all"
            )
            yield LintFinding(file.name, line, Level.WARNING, "shared-tag", message)


def _tags_unknown(file: SelectionFile) -> Iterator[LintFinding]:
    """Say that tags were not looked up; with --strict this is no success."""
    tags = [*file.selection.kernel_metadata]
    if tags:
        more = f" and {len(tags) - _SHOWN} more" if len(tags) > _SHOWN else ""
        message = (
            "the runtime's sources are not here, so these kernel tags were not looked up:"
            f" {', '.join(tags[:_SHOWN])}{more}"
        )
        line = min(file.line("kernel_metadata", tag) for tag in tags)
        yield LintFinding(file.name, line, Level.WARNING, "tags-not-checked", message)


def _dtypes(file: SelectionFile) -> Iterator[LintFinding]:
    for tag, dtypes in file.selection.kernel_metadata.items():
        line = file.line("kernel_metadata", tag)
        for dtype in sorted(dtypes - CODES.keys()):
            near = difflib.get_close_matches(dtype, CODES, n=1)
            advice = f"; nearest: {near[0]}" if near else ""
            yield LintFinding(
                file.name,
                line,
                Level.ERROR,
                "unknown-dtype",
                f"kernel tag {tag}: unknown dtype {dtype}{advice}",
            )


def _dtype_selection(file: SelectionFile) -> Iterator[LintFinding]:
    """Find lists of dtypes without effect: a model that was merged into the file keeps all."""
    selection = file.selection
    if not selection.all_non_operators_included or not selection.kernel_metadata:
        return
    flag = (
        "include_all_operators"
        if selection.include_all_operators
        else "include_all_non_op_selectives"
    )
    by = sorted(model for model, asked in selection.provenance.items() if getattr(asked, flag))
    said = f", as {', '.join(by[:_SHOWN])} asked," if by else ""
    message = (
        f"{flag}{said} keeps every dtype: those of {len(selection.kernel_metadata)} tags in"
        " kernel_metadata have no effect"
    )
    yield LintFinding(file.name, file.line(flag), Level.WARNING, "dtype-selection-off", message)


def _together(files: Sequence[SelectionFile]) -> Iterator[LintFinding]:
    if all(file.selection.is_empty() for file in files):
        names = ", ".join(file.name for file in files) or "no file"
        yield LintFinding(
            names,
            0,
            Level.ERROR,
            "empty",
            "selects no operator: a runtime built from it runs no model",
        )
    selective = [file.name for file in files if file.selection.kernel_metadata]
    for file in files:
        selection = file.selection
        losers = [name for name in selective if name != file.name]
        if selection.all_non_operators_included and losers:
            flag = (
                "include_all_operators"
                if selection.include_all_operators
                else "include_all_non_op_selectives"
            )
            message = (
                f"merged with {', '.join(losers[:_SHOWN])}, {flag} switches dtype selection off for"
                " all; trace the models of this file"
            )
            yield LintFinding(
                file.name, file.line(flag), Level.WARNING, "dtype-selection-off", message
            )
