"""Signs of a feature: what one of two builds has alone."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.claims.listed_names import FeatureMarks
from sizeguard.verify.features.feature_marks import feature_marks, signs_of_build

CONSTANTS = {"is_allocated": True, "is_executable": False, "is_writable": False}


def image(
    sections: Mapping[str, bytes], sizes: Mapping[str, int], *inlined: str, **flags: bool
) -> Any:
    rows = [
        SimpleNamespace(name=name, file_size=len(content), **(CONSTANTS | flags))
        for name, content in sections.items()
    ]
    shipped = SimpleNamespace(sections=rows, content=lambda row: sections[row.name])
    symbols = {name: [SimpleNamespace(size=size)] for name, size in sizes.items()}
    return SimpleNamespace(
        shipped=shipped, symbols=symbols, inlined=dict.fromkeys(inlined), hidden_prefixes=(),
        own_files=lambda: (), placement=SimpleNamespace(address={}),
    )  # fmt: skip


def marks_of(full: Any, without: Any) -> FeatureMarks:
    return feature_marks(signs_of_build(full), signs_of_build(without))


@pytest.mark.parametrize(
    "full, without, texts, others",
    [
        (b"a feature\0", b"", ("a feature",), ()),
        (b"a feature\0", b"a feature\0", (), ()),
        (b"", b"a feature\0", (), ("a feature",)),
        (b"feature\0", b"", (), ()),  # too short to tell
        (b"features\0", b"", ("features",), ()),
        (b"a feature\0", b"not a feature\0", (), ("not a feature",)),
        (b"a feature\0", b"a feature!\0", ("a feature",), ("a feature!",)),
        (b"a\x01feature\0", b"", (), ()),
        (b"a feature\xc3\xbc\0", b"", (), ()),
    ],
)
def test_texts_of_a_feature_are_those_of_one_build_alone(
    full: bytes, without: bytes, texts: tuple[str, ...], others: tuple[str, ...]
) -> None:
    marks = marks_of(image({".rodata": full}, {}), image({".rodata": without}, {}))
    assert marks.texts == texts
    assert marks.without == others


@pytest.mark.parametrize("flag", ["is_executable", "is_writable", "is_allocated"])
def test_only_constants_have_texts_of_features(flag: str) -> None:
    flags = {flag: flag != "is_allocated"}
    marks = marks_of(image({".x": b"a feature\0"}, {}, **flags), image({}, {}))
    assert marks.texts == ()
    imports = image({".dynstr": b"a feature\0"}, {})
    assert marks_of(imports, image({}, {})).texts == ()


def test_functions_of_a_feature_are_those_that_the_other_build_lacks() -> None:
    full = {"_Zkept": 8, "_Zmore": 9, "_Zsmall": 8, "_Zin": 8, "_Zx.isra.0": 8, "main": 9}
    without = image({}, {"_Zkept": 8, "_Zsmall": 7}, "_Zin")
    marks = marks_of(image({}, full), without)
    assert marks.functions == ("_Zmore",)
    assert marks.hosts == ("_Zsmall",)
    texts = marks_of(image({".rodata": b"a feature\0"}, full), without)
    assert texts.hosts == ()


@pytest.mark.parametrize(
    ("text", "options"), [(b"--profile\0", ("--missing",)), (b"a feature\0", ())]
)
def test_a_feature_of_a_program_has_the_options_of_both_builds(
    text: bytes, options: tuple[str, ...]
) -> None:
    both = b"--missing\0"
    full, without = (image({".rodata": content}, {}) for content in (text + both, both))
    assert marks_of(full, without).options == options
