"""Find the kernels that call the body of a dtype branch without the branch's switch.

logical_and has no switch, and calls `binary_loop<bool, bool, And>`, the body of bitwise_and's Bool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.verify.branches.bodies import DtypeBodies, Instance
from sizeguard.verify.branches.references import References
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.object_evidence import NamedPiece
from sizeguard.verify.registrations import Kernels


@dataclass(frozen=True, eq=False)
class KernelUsers:
    """Kernels that may call bodies of branches.

    known: by the text of a body, such as `binary_loop<bool, bool, And>`
    """

    kernels: Kernels
    references: References
    known: Mapping[str, tuple[str, ...]]

    def explain(self, instance: Instance) -> bool:
        """Return whether only known users refer to a body in the image, and at least one does."""
        known = self.known.get(instance.text)
        if known is None:
            return False
        users = {
            self.kernels.function_of(user.symbol) if user is not None else ""
            for user in self.references.users_of(instance.piece)
        }
        return bool(users) and users <= {*known}

    def explain_inlined(self, instance: Instance) -> bool:
        """Return whether a body without a definition is only inside of known users."""
        known = self.known.get(instance.text)
        if known is None:
            return False
        hosts = hosts_of(self.references.evidence, instance.piece.symbol)
        return {self.kernels.function_of(host) for host in hosts} <= {*known}


def users_of(kernels: Kernels, bodies: DtypeBodies) -> dict[str, tuple[str, ...]]:
    """Map bodies of branches to the kernels that call them without a switch of the branch's tag."""
    tags: dict[tuple[str, str], set[str]] = {}
    for (tag, _), instances in bodies.of_branch.items():
        for instance in instances:
            tags.setdefault((instance.piece.symbol, instance.text), set()).add(tag)
    texts: dict[str, set[str]] = {}
    for symbol, text in tags:
        texts.setdefault(symbol, set()).add(text)
    found: dict[str, set[str]] = {}
    for kernel, piece, called in _kernel_calls(kernels, bodies.references):
        for symbol in called & texts.keys():
            for text in texts[symbol]:
                if not any(piece.symbol in bodies.noted.hosts(t) for t in tags[symbol, text]):
                    found.setdefault(text, set()).add(kernel)
    for text, kernel in _inlining(kernels, bodies):
        found.setdefault(text, set()).add(kernel)
    return {text: tuple(sorted(names)) for text, names in sorted(found.items())}


def _kernel_calls(
    kernels: Kernels, references: References
) -> Iterator[tuple[str, NamedPiece, set[str]]]:
    """Yield each kernel with a definition of it in the image, and the symbols it refers to."""
    evidence = references.evidence
    for symbol, pieces in evidence.objects.index.items():
        kernel = kernels.function_of(symbol)
        if not kernel or kernels.is_helper(symbol):
            continue
        for piece in pieces:
            if evidence.placement.where(piece) is not None:
                yield kernel, piece, references.called(references.place_of(piece))


def _inlining(kernels: Kernels, bodies: DtypeBodies) -> Iterator[tuple[str, str]]:
    """Yield bodies that are only inlined, and kernels that contain them without such a switch."""
    evidence = bodies.evidence
    tags: dict[str, set[str]] = {}
    found: dict[str, Instance] = {}
    for (tag, _), instances in bodies.inlined_of_branch.items():
        for instance in instances:
            tags.setdefault(instance.piece.symbol, set()).add(tag)
            found[instance.piece.symbol] = instance
    for symbol, instance in found.items():
        for host in hosts_of(evidence, symbol):
            kernel = kernels.function_of(host)
            if kernel and not any(host in bodies.noted.hosts(tag) for tag in tags[symbol]):
                yield instance.text, kernel


def hosts_of(evidence: Evidence, symbol: str) -> frozenset[str]:
    """Return the functions of an image that a function is inlined into."""
    frames = evidence.frames
    if frames is None:
        return frozenset()
    names = frames.plain_names()
    wanted = [i for i, name in enumerate(names) if name == symbol]
    places = np.flatnonzero(np.isin(frames.frame, wanted))
    ranges = np.searchsorted(frames.first, places, "right") - 1
    hosts = frames.frame[frames.first[ranges + 1] - 1]
    return frozenset(names[host] for host in hosts.tolist())
