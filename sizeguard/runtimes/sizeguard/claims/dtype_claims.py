"""Dtype branches, handlers."""

from __future__ import annotations

from collections.abc import Iterator

from sizeguard.claims.verdict import FAIL, PRESENT, Verdict
from sizeguard.names.demangle import demangle
from sizeguard.names.short import template_of
from sizeguard.runtimes.sizeguard.sources.switches import DtypeSwitch
from sizeguard.verify.bodies import (
    CaseBodies,
    called,
    judge_absent_branch,
    judge_other_bodies,
    judge_present_branch,
)
from sizeguard.verify.code_presence import judge_code, look_for


def judge_dtypes(branches: CaseBodies) -> Iterator[Verdict]:
    """Every dtype of every tag, and bodies that no switch accounts for."""
    by_tag: dict[str, list[DtypeSwitch]] = {}
    for switch in branches.universe.switches:
        by_tag.setdefault(switch.tag, []).append(switch)
    for tag, switches in by_tag.items():
        for dtype in dict.fromkeys(dtype for switch in switches for dtype in switch.dtypes):
            having = [switch for switch in switches if dtype in switch.dtypes]
            if branches.selection.is_kernel_dtype_selected(tag, dtype):
                if any(branches.is_live(switch) for switch in having):
                    yield judge_present_branch(branches, f"{tag}:{dtype}", having, dtype)
            else:
                yield judge_absent_branch(branches, f"{tag}:{dtype}", having, dtype)
    yield judge_other_bodies(branches)


def judge_handlers(branches: CaseBodies, handler: str) -> Iterator[Verdict]:
    """Each switch in the image with a deselected dtype must be able to reach the shared handler."""
    evidence = branches.evidence
    if evidence.has_lto:
        yield from _judge_handler_of_lto(branches, handler)
        return
    for switch in branches.universe.switches:
        is_kept = branches.selection.is_kernel_dtype_selected
        left_out = [dtype for dtype in switch.dtypes if not is_kept(switch.tag, dtype)]
        where = evidence.placement.where
        placed = [piece for piece in branches.functions(switch) if where(piece) is not None]
        if not left_out or not placed:
            continue
        name = f"{switch.tag}:{handler}"
        calling = [piece for piece in placed if handler in called(evidence, piece)]
        if calling:
            note = f"{demangle(calling[0].symbol)} at {where(calling[0]) or 0:#x} refers to it"
            yield Verdict("handler", name, PRESENT, "pass", "present", 0, (note,))
        else:
            note = f"{switch.function} leaves {', '.join(left_out)} out, and refers to no {handler}"
            cause = "deselected dtypes end elsewhere"
            yield Verdict("handler", name, PRESENT, FAIL, "not_generated", 0, (note,), (), cause)


def _judge_handler_of_lto(branches: CaseBodies, handler: str) -> Iterator[Verdict]:
    """Judge whether the handler is there, if any branch is.

    Calls may have moved into other functions, so nothing more can be asked.
    """
    evidence = branches.evidence
    bodies = (instance.piece for found in branches.instances.values() for instance in found)
    if not any(evidence.placement.where(piece) is not None for piece in bodies):
        return
    known = [*evidence.objects.index, *evidence.inlined]
    names = [name for name in known if handler in name and template_of(name)[0] == handler]
    pieces = [piece for name in names for piece in evidence.objects.find(name)]
    yield judge_code(evidence, "handler", handler, PRESENT, look_for(evidence, pieces, names))
