"""Made-up knowledge of dtype branches, and claims on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from sizeguard.claims.claim import Claim, Question
from sizeguard.verify.branches.bodies import Instance
from sizeguard.verify.branches.branch_verdicts import BranchVerdicts
from sizeguard.verify.branches.noted_code import Branch, CodeRange
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.object_evidence import NamedPiece

FLOAT = ("t", "Float")
BLIND = ("a.o has no debug information",)


@dataclass(frozen=True)
class Found:
    """What is known of tags and dtypes, by names of functions."""

    pieces: Mapping[Branch, tuple[str, ...]] = field(default_factory=dict)
    hosts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    refers: Mapping[str, set[str]] = field(default_factory=dict)
    cases: Mapping[Branch, list[CodeRange]] = field(default_factory=dict)
    compiled: frozenset[Branch] = frozenset()
    switches: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"t": ("Float",)})
    patterns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    blind: tuple[str, ...] = ()
    instances: tuple[tuple[str, tuple[str, ...]], ...] = ()
    claimed: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    is_of_others: bool = False  # whether known bodies are those of other dtypes
    named: tuple[str, ...] = ()  # tags that the objects name
    inlined: Mapping[Branch, tuple[str, ...]] = field(default_factory=dict)

    def verdicts(
        self, evidence: Evidence, kept: frozenset[Branch], others: frozenset[str]
    ) -> BranchVerdicts:
        def piece(symbol: str) -> NamedPiece:
            (found,) = evidence.objects.index[symbol.partition(".")[0]]
            return replace(found, symbol=symbol)

        def of(symbols: tuple[str, ...]) -> list[NamedPiece]:
            return [piece(symbol) for symbol in symbols]

        evidence.__dict__["undescribed_notes"] = self.blind
        instances = [
            Instance(symbol, arguments, piece(symbol)) for symbol, arguments in self.instances
        ]
        bodies: Any = SimpleNamespace(
            evidence=evidence,
            noted=SimpleNamespace(
                cases=self.cases,
                hosts=lambda tag: dict.fromkeys(self.hosts.get(tag, ()), 0x1040),
                compiled=self.compiled,
                switches=self.switches,
                can_switch=lambda tag, file: tag in self.named,
            ),
            are_of_other_dtypes=lambda tag, dtype: self.is_of_others,
            pieces=lambda tag, dtype: of(self.pieces.get((tag, dtype), ())),
            host_pieces=lambda tag: of(self.hosts.get(tag, ())),
            of_host=lambda host: self.refers.get(host.symbol, set()),
            patterns=self.patterns,
            instances=instances,
            of_branch={FLOAT: [each for each in instances if each.name in self.claimed]},
            inlined_of_branch={
                branch: [Instance(s, ("float",), NamedPiece(-1, 0, 0, 9, s)) for s in symbols]
                for branch, symbols in self.inlined.items()
            },
        )
        users: Any = SimpleNamespace(
            explain=lambda instance: instance.name in self.used,
            explain_inlined=lambda instance: instance.name in self.used,
        )
        return BranchVerdicts(bodies, kept, others, users)


def claim(expect: str, question: Question) -> Claim:
    return Claim("dtype", "t:Float", expect, question)


HOST = {"t": ("main",)}
