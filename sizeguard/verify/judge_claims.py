"""Judge claims on a build, one verdict each; the claims include the runtime's names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from sizeguard.base.dataclass import dataclass
from sizeguard.claims.claim import (
    Claim,
    ClaimSet,
    DtypeBranch,
    Exported,
    FeatureCode,
    HiddenRemains,
    KernelCode,
    LostCode,
    NeverReturns,
    OtherBodies,
    RegisteredName,
    SameSelection,
    StartUp,
    SwitchHandler,
)
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
from sizeguard.verify.branches.bodies import DtypeBodies
from sizeguard.verify.branches.branch_verdicts import BranchVerdicts
from sizeguard.verify.branches.kernel_users import KernelUsers
from sizeguard.verify.branches.noted_code import NotedCode
from sizeguard.verify.branches.references import References
from sizeguard.verify.canaries import must_fail
from sizeguard.verify.code_presence import judge_code
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.features.feature_verdicts import judge_feature
from sizeguard.verify.leaks.judge_leaks import Deselected, judge_leaks
from sizeguard.verify.registrations import Kernels, Registrations, judge_registered
from sizeguard.verify.returns import judge_returns
from sizeguard.verify.startup import judge_exports, judge_initializers, judge_ways

_RANK = (FAIL, INCONCLUSIVE, PASS, NOT_APPLICABLE)


@dataclass(frozen=True, eq=False)
class Judge:
    """Judge the claims on one build by its evidence."""

    evidence: Evidence
    given: ClaimSet

    @cached_property
    def tables(self) -> Registrations:
        """Registration tables of objects and image."""
        return Registrations(self.evidence, self.given.classes)

    @cached_property
    def kernels(self) -> Kernels:
        """Code of kernels."""
        return Kernels(self.evidence, self.given.vocabulary.kernels, self.given.helpers)

    @cached_property
    def branches(self) -> BranchVerdicts:
        """Code of dtype branches; a claim that a branch is present keeps it."""
        kept = {
            (claim.question.tag, claim.question.dtype)
            for claim in self.given.claims
            if isinstance(claim.question, DtypeBranch) and claim.expect == PRESENT
        }
        noted = NotedCode(self.evidence, self.given.vocabulary)
        references = References(self.evidence)
        bodies = DtypeBodies(self.evidence, noted, references, self.given.bodies)
        users = KernelUsers(self.kernels, references, self.given.users)
        return BranchVerdicts(bodies, frozenset(kept), self.given.others, users)

    def verdicts(self) -> list[Verdict]:
        """Judge all claims, and additional claims about contents of this build's objects."""
        claims = [*self.given.claims, *self.unexpected()]
        return [self.judge(claim) for claim in claims]

    def unexpected(self) -> list[Claim]:
        """Claim the absence of everything in the build that the runtime does not know."""
        known = {claim.key[:2] for claim in self.given.claims}
        found = [
            Claim("operator", name, ABSENT, RegisteredName("operator", name))
            for name in sorted(self.tables.names())
        ]
        found += [
            Claim("class", name, ABSENT, RegisteredName("class", name))
            for name in self.tables.classes
        ]
        if any(isinstance(claim.question, DtypeBranch) for claim in self.given.claims):
            noted = self.branches.bodies.noted
            found += [
                Claim("dtype", f"{tag}:{dtype}", ABSENT, DtypeBranch(tag, dtype))
                for tag, dtypes in noted.switches.items()
                for dtype in dtypes
            ]
        return [claim for claim in found if claim.key[:2] not in known]

    def judge(self, claim: Claim) -> Verdict:
        """Judge one claim. Raises TypeError for a question of another list, such as a symbol."""
        if claim.reason:
            notes = (claim.reason,)
            return Verdict(claim.kind, claim.name, claim.expect, NOT_APPLICABLE, UNKNOWN, 0, notes)
        match claim.question:
            case RegisteredName(table, name):
                return judge_registered(self.tables, table, name, claim.expect)
            case KernelCode(function):
                code = self.kernels.find(function)
                return judge_code(self.evidence, claim.kind, claim.name, claim.expect, code)
            case FeatureCode(feature):
                return judge_feature(self.evidence, feature, claim.expect, self.given.marks)
            case SameSelection(differences):
                return judge_same(claim, differences)
            case DtypeBranch() | OtherBodies() | SwitchHandler():
                return self._judge_branch(claim)
            case _:
                return self._judge_whole(claim)

    def _judge_branch(self, claim: Claim) -> Verdict:
        if isinstance(claim.question, DtypeBranch):
            return self.branches.judge(claim, claim.question)
        if isinstance(claim.question, SwitchHandler):
            handler = self.given.vocabulary.handler
            return self.branches.judge_handler(claim, claim.question, handler)
        return self.branches.judge_others(claim)

    def _judge_whole(self, claim: Claim) -> Verdict:
        """Judge a claim on the whole image; all findings belong to its one verdict."""
        if isinstance(claim.question, NeverReturns):
            switches = self.branches.bodies.noted.switches
            if not switches and not self.evidence.undescribed_notes:
                notes = ("no object has a dtype switch",)
                return Verdict(
                    claim.kind, claim.name, claim.expect, NOT_APPLICABLE, UNKNOWN, 0, notes
                )
            found: Iterable[Verdict] = [
                judge_returns(self.evidence, self.given.vocabulary.handler_symbol)
            ]
        elif isinstance(claim.question, StartUp):
            registering = self.given.vocabulary.registering
            found = judge_initializers(self.evidence, self.tables, registering)
        elif isinstance(claim.question, Exported):
            found = judge_exports(self.evidence)
        elif isinstance(claim.question, LostCode):
            found = judge_ways(self.evidence)
        elif isinstance(claim.question, HiddenRemains):
            found = judge_leaks(self.evidence, self._deselected())
        else:
            raise TypeError(f"{claim.question} is judged with the names of its image")
        return united(claim, list(found)) or self._nothing_found(claim)

    def _deselected(self) -> Deselected:
        """Return the names that are claimed absent; names with an entry fail by themselves."""
        gone = [c for c in self.given.claims if c.expect == ABSENT and not c.reason]
        named = {
            table: tuple(
                claim.name
                for claim in gone
                if claim.kind == table and not self.tables.entries(table, claim.name)
            )
            for table in ("operator", "class")
        }
        kernels = tuple(c.question.function for c in gone if isinstance(c.question, KernelCode))
        branches = {(q.tag, q.dtype) for c in gone if isinstance(q := c.question, DtypeBranch)}
        bodies = self.branches.bodies.unused(self.branches.kept, branches) if branches else {}
        return Deselected(named["operator"], kernels, named["class"], bodies, self.given.handled)

    def _nothing_found(self, claim: Claim) -> Verdict:
        """Judge a claim on the whole image for which no object has any evidence."""
        if not self.evidence.is_complete:
            gaps = self.evidence.gaps
            return Verdict(claim.kind, claim.name, claim.expect, INCONCLUSIVE, UNKNOWN, 0, gaps)
        if isinstance(claim.question, StartUp):
            notes: tuple[str, ...] = ("no object has a function that runs before main",)
            return Verdict(claim.kind, claim.name, claim.expect, PASS, NOT_GENERATED, 0, notes)
        notes = ("the image is a library, whose exports are roots",)
        return Verdict(claim.kind, claim.name, claim.expect, NOT_APPLICABLE, UNKNOWN, 0, notes)

    def canary_notes(self) -> list[str]:
        """Judge claims that must fail; return a note for each that does not.

        A selected operator and its kernel are claimed absent, an operator that does not exist
        present.
        """
        tables = self.tables
        notes = must_fail(
            judge_registered(tables, "operator", "canary::nobody_registered_this", PRESENT)
        )
        kept = [
            claim.name
            for claim in self.given.claims
            if claim.kind == "operator" and claim.expect == PRESENT
            if tables.entries("operator", claim.name)
        ]
        for name in kept[:1]:
            notes += must_fail(judge_registered(tables, "operator", name, ABSENT))
        for claim in self.given.claims:
            if not isinstance(claim.question, KernelCode) or claim.expect == ABSENT:
                continue
            found = self.kernels.find(claim.question.function)
            if found.there:
                return notes + must_fail(
                    judge_code(self.evidence, claim.kind, claim.name, ABSENT, found)
                )
        if kept and self.evidence.is_complete:
            notes.append(
                "the kernel of no selected operator was found in the image, although their entries"
                " are there"
            )
        return notes


def united(claim: Claim, found: Sequence[Verdict]) -> Verdict | None:
    """Combine findings into one verdict: the worst one decides, and names come first."""
    if not found:
        return None
    worst = min(found, key=lambda each: _RANK.index(each.verdict))
    chosen = [each for each in found if each.verdict == worst.verdict]
    notes: list[str] = [
        f"{each.name}: {note}" if each.name != claim.name else note
        for each in chosen
        for note in each.evidence
    ]
    cause = worst.cause
    if worst.verdict == FAIL and worst.name != claim.name:
        cause = f"{worst.name}: {cause}" if cause else worst.name
    if len(chosen) > 1 and cause:
        cause = f"{cause}; and {len(chosen) - 1} more"
    return Verdict(
        claim.kind,
        claim.name,
        claim.expect,
        worst.verdict,
        worst.how,
        sum(each.bytes for each in chosen),
        tuple(notes),
        worst.chain,
        cause,
    )


def judge_same(claim: Claim, differences: Sequence[str]) -> Verdict:
    """Judge whether the build keeps exactly its selection.

    A misspelt build option builds something else without an error.
    """
    if differences:
        more = " …" if len(differences) > 4 else ""
        notes = (f"{len(differences)}: {', '.join(differences[:4])}{more}",)
        how = STILL_THERE if claim.expect == ABSENT else NOT_GENERATED
        wider = "more" if claim.expect == ABSENT else "less"
        cause = f"the build was told to keep {wider} than the selection says"
        return Verdict(claim.kind, claim.name, claim.expect, FAIL, how, 0, notes, (), cause)
    how = NOT_GENERATED if claim.expect == ABSENT else THERE
    notes = ("the build's effective selection is the selection, resolved",)
    return Verdict(claim.kind, claim.name, claim.expect, PASS, how, 0, notes)
