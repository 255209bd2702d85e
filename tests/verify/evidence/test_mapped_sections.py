"""Output sections of a map, compared with the sections of an image."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.base.errors import InconclusiveError
from sizeguard.formats.linkmap.link_map import LinkMap, OutputSection
from sizeguard.verify.evidence.placement import check_outputs

BASE = 0x1000


def test_output_sections_of_one_name_are_those_of_the_image() -> None:
    """--unique makes several of one name; the map was one of another build."""
    rows = [
        SimpleNamespace(name=".text", address=at, size=16, is_allocated=True, is_executable=True)
        for at in (BASE, BASE + 16)
    ]
    image: Any = SimpleNamespace(sections=rows, path="app")
    made = LinkMap(
        "lld", tuple(OutputSection(".text", row.address, 16) for row in rows), (), (), (), ()
    )
    check_outputs(image, made, Path("app.map"))
    rows[1].size = 20
    with pytest.raises(InconclusiveError, match=r"app.map is a map of another build: .text is at"):
        check_outputs(image, made, Path("app.map"))


@pytest.mark.parametrize(
    ("section", "output", "message"),
    [
        ((".init", 0x2000, 8, True, True), None, ""),
        ((".init", 0x2000, 8, True, True), (".init", 0x2000, 0), ""),  # nothing is in it
        ((".init", 0x2000, 8, True, True), (".init", 0x2004, 8), ".init is at 0x2004 with 8"),
        ((".note", 0x2000, 8, True, False), (".note", 0x2000, 9), ".note is at 0x2000 with 9"),
        ((".comment", 0x2000, 8, True, False), (".comment", 0, 9), ""),  # the map does not load it
        ((".comment", 0x2000, 8, False, False), (".comment", 0x2000, 9), ""),
        ((".tbss", 0, 8, True, False), (".tbss", 0x2000, 8), ""),
        ((".empty", 0x2000, 0, True, False), (".empty", 0x2000, 8), ""),
    ],
)
@pytest.mark.parametrize("has_text", [True, False])
def test_a_map_has_the_sections_that_the_image_loads(
    section: tuple[str, int, int, bool, bool],
    output: tuple[str, int, int] | None,
    message: str,
    has_text: bool,
) -> None:
    """A map that places no code of the image is of another build."""
    fields = ("name", "address", "size", "is_allocated", "is_executable")
    given = [(".text", BASE, 16, True, True), section]
    rows = [SimpleNamespace(**dict(zip(fields, each, strict=True))) for each in given]
    image: Any = SimpleNamespace(sections=rows, path="app")
    outputs = [OutputSection(".text", BASE, 16)] if has_text else []
    outputs += [OutputSection(*output)] if output else []
    made = LinkMap("lld", tuple(outputs), (), (), (), ())
    if not message and has_text:
        check_outputs(image, made, Path("app.map"))
        return
    with pytest.raises(InconclusiveError, match=message or "app.map places no code of app"):
        check_outputs(image, made, Path("app.map"))
