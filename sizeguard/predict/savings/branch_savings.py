"""Predict the savings of dtype branches, each with an interval, from the full build.

Omitting a branch removes its bodies and everything that only they need, which the section graph
gives exactly. In each function with the switch, its case becomes a call of the handler of
deselected dtypes. The effect of that is bounded by the contents of the function.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from sizeguard.columns.distinct import distinct
from sizeguard.linkgraph.graph import FDE, UNWIND
from sizeguard.predict.prediction import PredictedSaving
from sizeguard.predict.savings.code_changes import (
    Span,
    case_span,
    frame_span,
    shared_span,
    table_span,
    uninlined_span,
)
from sizeguard.predict.savings.compiled_branches import Branch, CompiledBranches, CompiledCase
from sizeguard.predict.savings.image_change import ImageChange
from sizeguard.predict.savings.recompiled import Absent, Recompiler


class BranchSavings:
    """Savings in one image: the full build, or the part that a selection leaves.

    selected: tag → dtypes that the image has; None for all
    coarse:   objects whose functions share a section; nothing is known about switches in them
    """

    def __init__(
        self,
        change: ImageChange,
        recompiler: Recompiler,
        branches: CompiledBranches,
        selected: Mapping[str, Collection[str]] | None,
        coarse: Collection[str] = (),
    ) -> None:
        """Prepare the data that all branches share."""
        self._change = change
        self._graph = change.graph
        self._recompiler = recompiler
        self._branches = branches
        self._selected = selected
        self._coarse = coarse
        edges = self._graph.edges
        unwound = (edges.reason == UNWIND) & (self._graph.nodes.kind[edges.target] == FDE)
        self._has_unwind = np.zeros(len(self._graph.nodes), bool)
        self._has_unwind[edges.source[unwound]] = True
        self._users = self._table_users()
        self._lost = self._lost_branches()

    def all(self) -> dict[Branch, PredictedSaving | None]:
        """Return the saving of every branch of the image; None if the build does not show it."""
        found: dict[Branch, PredictedSaving | None] = {}
        for branch in sorted(self._branches.cases):
            cases = self._cases(branch)
            if cases and self._has(*branch):
                found[branch] = self._saving(branch, cases)
        return found

    def deselected(self, node: int) -> Span | None:
        """Bound the bytes that a function lost to the dtypes that the image omits.

        Returns None if not known: a switch without any case also removes the code after it.
        """
        if self._selected is None:
            return Span()
        total = Span()
        for branch in self._lost.get(node, ()):
            case = self._branches.cases[branch][node]
            others = self._branches.dtypes_in(branch[0], node, branch[1])
            if branch in self._branches.unclear or not any(self._has(branch[0], d) for d in others):
                return None
            total = total + self._span(branch, node, case)
        return total

    def _lost_branches(self) -> dict[int, list[Branch]]:
        """Return for each function the branches that the image omits."""
        found: dict[int, list[Branch]] = {}
        for branch in sorted(self._branches.cases):
            if not self._has(*branch):
                for node in self._branches.cases[branch]:
                    found.setdefault(node, []).append(branch)
        return found

    def _has(self, tag: str, dtype: str) -> bool:
        return self._selected is None or dtype in self._selected.get(tag, ())

    def _cases(self, branch: Branch) -> dict[int, CompiledCase]:
        """Return the branch's cases in functions of the image."""
        seen = self._change.base.seen
        return {node: case for node, case in self._branches.cases[branch].items() if seen[node]}

    def _saving(self, branch: Branch, cases: Mapping[int, CompiledCase]) -> PredictedSaving | None:
        tag, dtype = branch
        is_last = not any(
            self._has(tag, d) for node in cases for d in self._branches.dtypes_in(tag, node, dtype)
        )
        objects = distinct(self._graph.nodes.object[list(cases)])
        is_coarse = any(self._graph.objects[k] in self._coarse for k in objects.tolist())
        if branch in self._branches.unclear or is_coarse or is_last:
            return None  # without any case, the code after the switch disappears, too
        lost_tables = self._lost_tables(branch, cases)
        cut = np.zeros(len(self._graph.edges.target), bool)
        for case in cases.values():
            cut[list(case.edges)] = True
            for table in lost_tables & set(case.tables):
                cut[case.tables[table]] = True
        base = self._change.base
        compiled = self._recompiler.without(objects, Absent(base.without, base.cut | cut))
        spans = {node: self._span(branch, node, case) for node, case in cases.items()}
        # Bodies are never inlined.
        edges = self._graph.edges
        bodies = {int(edges.target[edge]) for case in cases.values() for edge in case.edges}
        for node, references in compiled.shared.items():
            if node not in bodies:
                size = int(self._graph.nodes.size[node])
                spans[node] = spans.get(node, Span()) + shared_span(size, references)
        seen = self._change.reached(compiled.cut, handler=True)
        seen[list(lost_tables)] = False
        return self._change.saving(seen, compiled.cut, spans)

    def _span(self, branch: Branch, node: int, case: CompiledCase) -> Span:
        """Bound the change of one function with the switch."""
        tag, dtype = branch
        all_others = self._branches.dtypes_in(tag, node, dtype)
        others = [d for d in all_others if self._has(tag, d)]
        has_handler = len(others) < len(all_others)
        if case.tables and not has_handler:
            span = table_span(len(others), len(case.tables))
        else:
            code = case.code
            # its body's address is loaded before the switch; another address will be loaded instead
            if not code:
                rest = sorted(self._branches.cases[tag, d][node].code for d in others)
                code = rest[len(rest) // 2] if rest else 0
            copies = self._branches.copies.get((tag, case.switch), 1)
            span = case_span(code, len(others), copies, has_handler=has_handler)
        if self._has_unwind[node]:
            span = span + frame_span()
        return span + uninlined_span(self._branches.inlined.get((tag, node), 0))

    def _table_users(self) -> dict[int, set[tuple[str, int]]]:
        users: dict[int, set[tuple[str, int]]] = {}
        for (tag, _), cases in self._branches.cases.items():
            for node, case in cases.items():
                for table in case.tables:
                    users.setdefault(table, set()).add((tag, node))
        return users

    def _lost_tables(self, branch: Branch, cases: Mapping[int, CompiledCase]) -> set[int]:
        """Return the tables that no other tag's switch uses."""
        mine = {table for case in cases.values() for table in case.tables}
        return {t for t in mine if all(tag == branch[0] for tag, _ in self._users[t])}
