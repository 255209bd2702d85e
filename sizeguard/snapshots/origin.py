"""Origin of a snapshot: the commit, inputs and tools of the build that was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field

from sizeguard.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Origin:
    """The inputs of the build from which a snapshot was made.

    commit: commit of the built files; empty if not known
    parts:  hashes by name of everything that the measurement depends on; empty if not known
    tools:  full names of the tools, where the image names them
    """

    commit: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)
    tools: str = ""

    def to_json(self) -> dict[str, object]:
        """Return it as part of a snapshot's header."""
        return asdict(self)


def origin_from_json(content: object) -> Origin | None:
    """Read an origin from a header; None if it has none. Raises ValueError for anything else."""
    if content is None:
        return None
    if not isinstance(content, dict) or content.keys() != {"commit", "parts", "tools"}:
        raise ValueError("damaged origin")
    parts = content["parts"]
    if not isinstance(parts, dict):
        raise ValueError("damaged origin")
    texts = (content["commit"], content["tools"], *parts, *parts.values())
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("damaged origin")
    return Origin(content["commit"], parts, content["tools"])
