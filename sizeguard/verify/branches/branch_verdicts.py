"""Verdicts on the dtype branches of switches, and on the handler of deselected dtypes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property

from sizeguard.base.dataclass import dataclass
from sizeguard.claims.claim import Claim, DtypeBranch, SwitchHandler
from sizeguard.claims.verdict import (
    ABSENT,
    FAIL,
    INCONCLUSIVE,
    NOT_APPLICABLE,
    NOT_GENERATED,
    PASS,
    PRESENT,
    STILL_THERE,
    THERE,
    UNKNOWN,
    Verdict,
)
from sizeguard.names.demangle import demangle, without_clones
from sizeguard.names.short import template_of
from sizeguard.verify.branches.bodies import DtypeBodies, Instance
from sizeguard.verify.branches.dtype_arguments import dtype_argument
from sizeguard.verify.branches.kernel_users import KernelUsers
from sizeguard.verify.branches.noted_code import Branch
from sizeguard.verify.code_presence import FoundCode, explain_any, judge_code, look_for
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.object_evidence import NamedPiece

NO_CONSTANT = (
    "compiled although not selected: the check is not a constant, or asks another selection"
)
_NO_SWITCH = "no switch of the tag is in the image"


@dataclass(frozen=True, eq=False)
class BranchVerdicts:
    """Judge dtype branches.

    kept:   the selected branches
    others: allowed instances that belong to no branch: `binary_loop<bool, bool, And>`
    users:  kernels that call bodies of branches without their switches, as in a full build
    """

    bodies: DtypeBodies
    kept: frozenset[Branch]
    others: frozenset[str]
    users: KernelUsers

    @property
    def _evidence(self) -> Evidence:
        return self.bodies.evidence

    @cached_property
    def explained(self) -> frozenset[NamedPiece]:
        """Bodies that a selected branch calls."""
        return frozenset(piece for branch in self.kept for piece in self.bodies.pieces(*branch))

    @cached_property
    def _kept_of_tag(self) -> Mapping[str, frozenset[NamedPiece]]:
        found: dict[str, set[NamedPiece]] = {}
        for tag, dtype in self.kept:
            found.setdefault(tag, set()).update(self.bodies.pieces(tag, dtype))
        return {tag: frozenset(pieces) for tag, pieces in found.items()}

    def judge(self, claim: Claim, question: DtypeBranch) -> Verdict:
        """Judge whether the branch of a dtype is present."""
        branch = question.tag, question.dtype
        return (
            self._judge_present(claim, branch)
            if claim.expect == PRESENT
            else self._judge_absent(claim, branch)
        )

    def _judge_present(self, claim: Claim, branch: Branch) -> Verdict:
        ranges = self.bodies.noted.cases.get(branch, [])
        size = sum(code.end - code.start for code in ranges)
        found = look_for(self._evidence, self.bodies.pieces(*branch), [])
        if found.there:
            return judge_code(self._evidence, claim.kind, claim.name, PRESENT, found)
        if ranges:
            note = f"{size} bytes of its case are in {demangle(ranges[0].host)}"
            return Verdict(claim.kind, claim.name, PRESENT, PASS, THERE, size, (note,))
        if not self._evidence.is_complete or self._is_undescribed:
            return self._undecided(claim, (*found.evidence, *self._evidence.gaps))
        if not self.bodies.noted.hosts(branch[0]):
            return Verdict(
                claim.kind, claim.name, PRESENT, NOT_APPLICABLE, UNKNOWN, 0, (_NO_SWITCH,)
            )
        if self.bodies.are_of_other_dtypes(*branch):
            return self._judge_unknown(claim, branch)
        return judge_code(self._evidence, claim.kind, claim.name, PRESENT, found)

    def _judge_unknown(self, claim: Claim, branch: Branch) -> Verdict:
        """Judge a case without code of its own, which only chooses an address."""
        hosts = self.bodies.host_pieces(branch[0])
        if branch not in self.bodies.noted.compiled or not hosts:
            return self._undecided(claim, ("its case has no code, and its bodies are unknown",))
        note = f"debug information names the case, and {demangle(hosts[0].symbol)} is in the image"
        return Verdict(claim.kind, claim.name, PRESENT, PASS, THERE, 0, (note,))

    @property
    def _is_undescribed(self) -> bool:
        return bool(self._evidence.undescribed_notes)

    def _undecided(self, claim: Claim, notes: Iterable[str]) -> Verdict:
        evidence = (*self._evidence.undescribed_notes, *notes)
        return Verdict(claim.kind, claim.name, claim.expect, INCONCLUSIVE, UNKNOWN, 0, evidence)

    def _judge_absent(self, claim: Claim, branch: Branch) -> Verdict:
        tag, dtype = branch
        instances = self.bodies.of_branch.get(branch, ())
        used = {each.piece for each in instances if self.users.explain(each)}
        pieces = [p for p in self.bodies.pieces(tag, dtype) if p not in self.explained | used]
        found = look_for(self._evidence, pieces, self._inlined(branch))
        verdict = judge_code(self._evidence, claim.kind, claim.name, ABSENT, found)
        is_compiled = branch in self.bodies.noted.compiled
        if verdict.verdict == FAIL:
            cause = f"{NO_CONSTANT}; {verdict.cause}" if is_compiled else verdict.cause
            return replace(verdict, cause=cause)
        return (
            self._in_image(claim, branch, verdict)
            or self._compiled(claim, branch, verdict)
            or self._referring(claim, branch, verdict)
            or self._described(claim, branch, verdict)
        )

    def _inlined(self, branch: Branch) -> list[str]:
        """List bodies that are only inlined, except those of selected branches and known users."""
        known = {
            instance.piece.symbol
            for kept in self.kept
            for instance in self.bodies.inlined_of_branch.get(kept, ())
        }
        return [
            instance.piece.symbol
            for instance in self.bodies.inlined_of_branch.get(branch, ())
            if instance.piece.symbol not in known and not self.users.explain_inlined(instance)
        ]

    def _failed(
        self, claim: Claim, verdict: Verdict, note: str, size: int, host: NamedPiece | None
    ) -> Verdict:
        chain = explain_any(self._evidence, FoundCode((), (), (host,), ()))[1] if host else ()
        notes = (note, *verdict.evidence)
        return Verdict(
            claim.kind, claim.name, ABSENT, FAIL, STILL_THERE, size, notes, chain, NO_CONSTANT
        )

    def _in_image(self, claim: Claim, branch: Branch, verdict: Verdict) -> Verdict | None:
        ranges = self.bodies.noted.cases.get(branch, [])
        if not ranges:
            return None
        size = sum(code.end - code.start for code in ranges)
        note = (
            f"debug information of the image has {size} bytes of the case of {branch[1]} in"
            f" {demangle(ranges[0].host)}"
        )
        return self._failed(claim, verdict, note, size, None)

    def _compiled(self, claim: Claim, branch: Branch, verdict: Verdict) -> Verdict | None:
        """Judge a case that was compiled, but that the image's debug information does not place."""
        hosts = self.bodies.host_pieces(branch[0])
        if branch not in self.bodies.noted.compiled or not hosts:
            return None
        note = (
            f"debug information names the case of {branch[1]}, and {demangle(hosts[0].symbol)},"
            " which has such a switch, is in the image"
        )
        return self._failed(claim, verdict, note, 0, hosts[0])

    def _referring(self, claim: Claim, branch: Branch, verdict: Verdict) -> Verdict | None:
        """Find a function with such a switch that refers to the dtype's body.

        A selected branch of another function calls the body, too. clang does not name a case in its
        debug information if the case is only a jump to a body.
        """
        own = self._kept_of_tag.get(branch[0], frozenset())
        wanted = {p.symbol for p in self.bodies.pieces(*branch) if p not in own}
        for host in self.bodies.host_pieces(branch[0]) if wanted else ():
            used = self.bodies.of_host(host) & wanted - self._kept_in(host)
            if used:
                note = (
                    f"{demangle(host.symbol)}, which is in the image, refers to"
                    f" {demangle(min(used))}"
                )
                return self._failed(claim, verdict, note, 0, host)
        return None

    def _kept_in(self, host: NamedPiece) -> set[str]:
        """Return the bodies of selected branches of all tags with a switch in a function."""
        return {
            piece.symbol
            for tag, pieces in self._kept_of_tag.items()
            if any(other.symbol == host.symbol for other in self.bodies.host_pieces(tag))
            for piece in pieces
        }

    def _described(self, claim: Claim, branch: Branch, verdict: Verdict) -> Verdict:
        """Pass only claims that debug information could have contradicted."""
        if verdict.verdict != PASS:
            return verdict
        is_noted = branch[0] in self.bodies.noted.switches
        if not is_noted and not self.bodies.patterns.get(branch[0]):
            note = f"no object names a switch of {branch[0]}, and none of its bodies is known"
            return self._undecided(claim, (note,))
        return verdict

    def judge_others(self, claim: Claim) -> Verdict:
        """Judge the bodies that no selected branch calls and no other claim covers."""
        claimed = {p for found in self.bodies.of_branch.values() for i in found for p in (i.piece,)}
        others = [
            instance.piece
            for instance in self.bodies.instances
            if instance.piece not in claimed and instance.arguments
            if instance.text not in self.others and not self._serves_kept(instance)
        ]
        found = look_for(self._evidence, others, [])
        return judge_code(self._evidence, claim.kind, claim.name, ABSENT, found)

    def _serves_kept(self, instance: Instance) -> bool:
        """Return whether an instance serves a selected dtype of a switch that can refer to it.

        Patterns of the full build may be outdated, and optimizers move references out of cases.
        """
        # Many instances have Bool as the type of their result.
        dtypes = {found.dtype for each in instance.arguments if (found := dtype_argument(each))}
        served = dtypes - {"Bool"} or dtypes
        if len(served) != 1:
            return False
        file = self._evidence.objects.files[instance.piece.object]
        noted = self.bodies.noted
        for tag in sorted(tag for tag, dtype in self.kept if dtype in served):
            hosts = self.bodies.host_pieces(tag)
            if any(instance.piece.symbol in self.bodies.of_host(host) for host in hosts):
                return True
            if not noted.hosts(tag) and noted.can_switch(tag, file):
                return True
        return False

    def judge_handler(self, claim: Claim, question: SwitchHandler, handler: str) -> Verdict:
        """Judge whether each switch of a tag in the image can reach the shared handler."""
        evidence = self._evidence
        if evidence.has_lto:
            return self._judge_handler_of_lto(claim, question, handler)
        if not evidence.placement.has_map and not evidence.placement.address:
            return self._undecided(claim, evidence.gaps)
        hosts: dict[str, list[NamedPiece]] = {}
        for piece in self.bodies.host_pieces(question.tag):
            hosts.setdefault(without_clones(piece.symbol), []).append(piece)
        if not hosts:
            if self._is_undescribed:
                return self._undecided(claim, evidence.gaps)
            return _no_switch(claim)
        for name, pieces in hosts.items():
            called = {template_of(s)[0] for piece in pieces for s in self.bodies.of_host(piece)}
            if handler not in called:
                note = (
                    f"{demangle(name)} leaves {', '.join(question.left_out)} out, and refers to no"
                    f" {handler}"
                )
                cause = "deselected dtypes end elsewhere"
                return Verdict(
                    claim.kind, claim.name, PRESENT, FAIL, NOT_GENERATED, 0, (note,), (), cause
                )
        piece = next(iter(hosts.values()))[0]
        where = evidence.placement.where(piece) or 0
        note = f"{demangle(piece.symbol)} at {where:#x} refers to it"
        return Verdict(claim.kind, claim.name, PRESENT, PASS, THERE, 0, (note,))

    def _judge_handler_of_lto(self, claim: Claim, question: SwitchHandler, handler: str) -> Verdict:
        """Judge whether the handler is present if a switch is.

        Calls may have moved into other functions, so nothing more can be checked.
        """
        evidence = self._evidence
        if not self.bodies.noted.hosts(question.tag):
            return _no_switch(claim)
        known = [*evidence.objects.index, *evidence.inlined]
        names = [name for name in known if handler in name and template_of(name)[0] == handler]
        pieces = [piece for name in names for piece in evidence.objects.find(name)]
        found = look_for(evidence, pieces, names)
        return judge_code(evidence, claim.kind, claim.name, PRESENT, found)


def _no_switch(claim: Claim) -> Verdict:
    notes = (_NO_SWITCH,)
    return Verdict(claim.kind, claim.name, claim.expect, NOT_APPLICABLE, UNKNOWN, 0, notes)
