"""Build features and custom classes that C++ sources look up."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.base.errors import InputError
from sizeguard.operators.schema_parser import parse_schema
from sizeguard.runtimes.sizeguard.codegen.cpp_types import value_type
from sizeguard.runtimes.sizeguard.sources.asked_names import scan_classes, scan_features


@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("if (SG_BUILD_FEATURE(a) || SG_BUILD_FEATURE(b)) f();", ("a", "b")),
        ("if constexpr (SG_BUILD_FEATURE( a )) f();", ("a",)),
        ("if constexpr (SG_BUILD_FEATURE(\n    a)) f();", ("a",)),
        ("#define SG_BUILD_FEATURE(feature) \\\n  SG_BUILD_FEATURE(feature)\n", ()),
        ("#define HAS_A SG_BUILD_FEATURE(a)", ("a",)),
        ("/* SG_BUILD_FEATURE(a) */ // SG_BUILD_FEATURE(b)\n", ()),
        ('log("SG_BUILD_FEATURE(a)");', ()),
    ],
)
def test_every_feature_of_a_line_is_found(
    text: str, features: tuple[str, ...], tmp_path: Path
) -> None:
    source = tmp_path / "a.cpp"
    source.write_text(text)
    assert scan_features([source]) == features


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ('f(SG_SELECTIVE_CLASS("A"), SG_SELECTIVE_CLASS("B"));', ("A", "B")),
        ('SG_SELECTIVE_CLASS(\n    "A" "B")', ("AB",)),
        ('// SG_SELECTIVE_CLASS("A")\nSG_SELECTIVE_CLASS("B")', ("B",)),
    ],
)
def test_every_class_of_a_line_is_found(
    text: str, classes: tuple[str, ...], tmp_path: Path
) -> None:
    source = tmp_path / "a.cpp"
    source.write_text(text)
    assert scan_classes([source]) == classes


def test_results_that_are_not_all_tensors_are_named() -> None:
    schema = parse_schema("my::f(Tensor a) -> (Tensor, int)")
    with pytest.raises(InputError, match=r"must all be tensors, not \(Tensor, int\)"):
        value_type(schema.returns)
