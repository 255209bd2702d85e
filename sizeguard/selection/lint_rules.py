"""Check selection files against the operators and dtype switches of the runtime.

An error is an entry that cannot have its stated effect; a build refuses it. A warning is an
entry that keeps more than it seems to.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

from sizeguard.operators.dtypes import NAME_OF_CODE
from sizeguard.operators.name import family_of
from sizeguard.selection.finding import Level, LintFinding
from sizeguard.selection.foreign.translation import translated_file
from sizeguard.selection.read import SelectionFile
from sizeguard.selection.selectable import (
    Selectable,
    missing_cases,
    unknown_names,
    unreachable_tags,
)

_SHOWN = 4  # names in a message
_META = r"\d{1,9};(?:\d+(?:,\d+)*)?"  # the dtype and the dimension order of a tensor
_KEY = re.compile(rf"\w+/({_META}(?:\|{_META})*)", re.ASCII)
_CODE = re.compile(r"(?<![,;\d])\d+(?=;)", re.ASCII)


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


Places: TypeAlias = Mapping[str, Sequence[HasPlace]]


def lint(
    files: Sequence[SelectionFile], known: Selectable, places: Places | None = None
) -> tuple[LintFinding, ...]:
    """List all findings by file and line, then the findings about the merged files.

    known:  the names that the runtime has
    places: kernel tag → the switches with that tag, if the runtime's sources are here
    """
    findings: list[LintFinding] = []
    files = [
        # ExecuTorch's lists are not looked up here, because the operators may be in its libraries.
        file
        if file.selection.et_kernel_metadata
        else translated_file(file, known.calls, known.pytorch)
        for file in files
    ]
    for file in files:
        own = [
            *file.findings,
            *_names(file, known),
            *_overloads(file, known.operators),
            *_tags(file, known, places or {}),
            *_kernel_keys(file),
            *_not_looked_up(file, known),
            *_dtype_selection(file),
        ]
        findings += sorted(own, key=lambda finding: (finding.line, finding.check, finding.message))
    return (*findings, *_together(files))


def has_errors(findings: Iterable[LintFinding], *, strict: bool) -> bool:
    """Return whether there are errors. strict: warnings count, too."""
    counted = (Level.ERROR, Level.WARNING) if strict else (Level.ERROR,)
    return any(finding.level in counted for finding in findings)


def _names(file: SelectionFile, known: Selectable) -> Iterator[LintFinding]:
    """Find names that do not exist."""
    of_executorch = file.selection.et_kernel_metadata
    for each in unknown_names(file.selection, known):
        level, check, message = Level.ERROR, each.check, each.text
        if check == "unknown-operator" and of_executorch:
            # An operator of ExecuTorch's libraries, whose lists are unknown here; check its kernel
            # keys.
            if of_executorch.get(each.name):
                continue
            level, check = Level.WARNING, "no-kernel-key"
            message = (
                f"{each.name} has no kernel key in et_kernel_metadata: ExecuTorch registers no"
                " kernel for it"
            )
        yield LintFinding(file.name, file.line(each.key, each.name), level, check, message)


def _overloads(file: SelectionFile, operators: Collection[str]) -> Iterator[LintFinding]:
    """Find names with an overload that are marked as a whole family."""
    not_stated = {finding.line for finding in file.findings if finding.check == "inclusive-default"}
    for name, entry in file.selection.operators.items():
        line = file.line("operators", name)
        is_inert = name in operators and "." in name and entry.include_all_overloads
        if is_inert and line not in not_stated:
            message = (
                f"include_all_overloads of {name} has no effect: the name has an overload;"
                f" {family_of(name)} stands for all"
            )
            yield LintFinding(file.name, line, Level.WARNING, "inert-overloads", message)


def _tags(file: SelectionFile, known: Selectable, places: Places) -> Iterator[LintFinding]:
    """Find tags that keep other code than it seems, or none."""

    def warning(tag: str, check: str, message: str) -> LintFinding:
        line = file.line("kernel_metadata", tag)
        return LintFinding(file.name, line, Level.WARNING, check, f"kernel tag {tag} {message}")

    for tag, dtypes in file.selection.kernel_metadata.items():
        kernels = sorted({use.file.as_posix() for use in places.get(tag, ())})
        if len(kernels) > 1:
            listed = ", ".join(kernels[:_SHOWN])
            yield warning(
                tag, "shared-tag", f"is shared by {listed}: what one of them needs is kept in all"
            )
        if not dtypes:
            yield warning(tag, "empty-tag", "lists no dtype, so it keeps none")
    for tag in unreachable_tags(file.selection, known):
        yield warning(
            tag,
            "unreachable-tag",
            "belongs to no operator of the selection, nor to one that these call",
        )
    for tag, lacking in missing_cases(file.selection, known):
        cases = ", ".join((known.dtypes or {}).get(tag, ()))
        message = f"has no case for {', '.join(lacking)}, only for {cases}"
        yield warning(tag, "missing-case", message)


def _kernel_keys(file: SelectionFile) -> Iterator[LintFinding]:
    """Find kernel keys of ExecuTorch that no kernel can have."""
    for name, keys in file.selection.et_kernel_metadata.items():
        for key in sorted(keys - {"default"}):
            match = _KEY.fullmatch(key)
            codes = {int(code) for code in _CODE.findall(match[1])} if match else set()
            unknown = [code for code in sorted(codes) if code > max(NAME_OF_CODE)]
            if match and not unknown:
                continue
            wrong = f"has the unknown dtype {unknown[0]}" if unknown else "is malformed"
            message = (
                f"the kernel key {key} of {name} {wrong}: a key is default, or a dtype and a"
                " dimension order for each tensor, such as v1/6;0,1|6;0,1"
            )
            line = file.line("et_kernel_metadata", name)
            yield LintFinding(file.name, line, Level.WARNING, "kernel-key", message)


def _not_looked_up(file: SelectionFile, known: Selectable) -> Iterator[LintFinding]:
    """Warn about names that were not looked up; with --strict that is a failure."""
    kinds = (
        ("kernel tags", "tags", "kernel_metadata", file.selection.kernel_metadata, known.dtypes),
        ("classes", "classes", "custom_classes", file.selection.custom_classes, known.classes),
        ("build features", "features", "build_features", file.selection.build_features,
         known.features),
    )  # fmt: skip
    for what, check, key, named, there in kinds:
        if there is not None or not named:
            continue
        names = list(named) if isinstance(named, Mapping) else sorted(named)
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        message = (
            f"without the runtime's sources, these {what} were not looked up: "
            f"{', '.join(names[:_SHOWN])}{more}"
        )
        line = min(file.line(key, name) for name in names)
        yield LintFinding(file.name, line, Level.WARNING, f"{check}-not-checked", message)


def _dtype_selection(file: SelectionFile) -> Iterator[LintFinding]:
    """Find lists of dtypes without effect, because a merged model keeps every dtype."""
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
