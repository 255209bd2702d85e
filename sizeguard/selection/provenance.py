"""Write and read the needs of one model as a line of debug_info.

The format has a debug_info per operator but none per dtype, class or feature, and torchgen refuses
unknown keys. The top-level debug_info takes any text, so it has one JSON record per model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field, fields

from sizeguard.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Provenance:
    """The needs of a model, or of a file without models, except operators.

    operator_dtypes: operator → dtypes of the tensors at its calls, if the model file shows them. It
                     selects nothing, because only a trace shows the dtypes that a kernel's switches
                     see.
    """

    include_all_operators: bool = False
    include_all_non_op_selectives: bool = False
    kernel_metadata: Mapping[str, frozenset[str]] = field(default_factory=dict)
    et_kernel_metadata: Mapping[str, frozenset[str]] = field(default_factory=dict)
    custom_classes: frozenset[str] = frozenset()
    build_features: frozenset[str] = frozenset()
    operator_dtypes: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def union(self, other: Provenance) -> Provenance:
        """Combine the needs of two models."""
        return Provenance(
            self.include_all_operators or other.include_all_operators,
            self.include_all_non_op_selectives or other.include_all_non_op_selectives,
            union_of_lists(self.kernel_metadata, other.kernel_metadata),
            union_of_lists(self.et_kernel_metadata, other.et_kernel_metadata),
            self.custom_classes | other.custom_classes,
            self.build_features | other.build_features,
            union_of_lists(self.operator_dtypes, other.operator_dtypes),
        )


def union_of_lists(
    left: Mapping[str, frozenset[str]], right: Mapping[str, frozenset[str]]
) -> dict[str, frozenset[str]]:
    """Combine the sets of each key."""
    return {
        key: left.get(key, frozenset()) | right.get(key, frozenset())
        for key in [*left, *(key for key in right if key not in left)]
    }


def write_record(model: str, asked: Provenance) -> str:
    """Write one line of JSON, equal for equal content; empty and false parts are left out."""
    record: dict[str, object] = {"model": model}
    for part in fields(asked):
        value = getattr(asked, part.name)
        if value:
            record[part.name] = _plain(value)
    return json.dumps(record, sort_keys=True)


def read_record(text: str) -> tuple[str, Provenance] | None:
    """Read a model and its needs; None for other text."""
    if not text.startswith("{"):
        return None
    try:
        record = json.loads(text)
        # JSON can have halves of surrogate pairs, which cannot be encoded
        json.dumps(record, ensure_ascii=False).encode()
        if not isinstance(record, dict):
            return None
        model = record.pop("model", None)
        asked = Provenance(
            include_all_operators=_bool(record.pop("include_all_operators", False)),
            include_all_non_op_selectives=_bool(record.pop("include_all_non_op_selectives", False)),
            kernel_metadata=_table(record.pop("kernel_metadata", {})),
            et_kernel_metadata=_table(record.pop("et_kernel_metadata", {})),
            custom_classes=_words(record.pop("custom_classes", [])),
            build_features=_words(record.pop("build_features", [])),
            operator_dtypes=_table(record.pop("operator_dtypes", {})),
        )
    except (ValueError, RecursionError):
        return None
    return (model, asked) if isinstance(model, str) and not record else None


def _bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _words(value: object) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise ValueError
    return frozenset(value)


def _table(value: object) -> dict[str, frozenset[str]]:
    if not isinstance(value, dict):
        raise ValueError
    return {key: _words(words) for key, words in value.items()}


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: sorted(entry) for key, entry in value.items()}
    return sorted(value) if isinstance(value, frozenset) else value
