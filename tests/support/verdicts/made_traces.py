"""Made-up selections, and a tracer that returns them."""

from __future__ import annotations

from sizeguard.gate.cache.traces import Model, Tracer
from sizeguard.selection.selection import SelectedOperator, Selection


class Traces(Tracer):
    """A fake tracer with a selection or an error for each model; `traced` lists its requests."""

    def __init__(self, uses: dict[str, Selection | Exception]) -> None:
        self.uses = uses
        self.traced: list[str] = []

    def trace(self, model: Model) -> Selection:
        self.traced.append(model.name)
        found = self.uses[model.name]
        if isinstance(found, Exception):
            raise found
        return found


def selecting(
    operators: str, dtypes: dict[str, str] | None = None, features: str = ""
) -> Selection:
    entry = SelectedOperator(True, False, False)
    metadata = {tag: frozenset(names.split()) for tag, names in (dtypes or {}).items()}
    return Selection(
        {f"demo::{n}": entry for n in operators.split()},
        kernel_metadata=metadata,
        build_features=frozenset(features.split()),
    )
