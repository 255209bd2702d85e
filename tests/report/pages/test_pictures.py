"""Pictures of six key screens against stored ones: places, colours and legends stay.

To accept changes, run python -m tests.support.pages.key_screens, and look at the new pictures.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.support.pages.key_screens import FLAGS, FOLDER, FONTS, SCREENS, Camera
from tests.support.pages.picture_compare import Pixels, compare, drawn, pixels
from tests.support.places import ROOT

pytestmark = pytest.mark.native

FAILED = ROOT / "build" / "pictures"
# Screen → style that damages it.
DAMAGES = {
    "report": {
        "a button moves": "#copy { position: relative; left: -3px; }",
        "a line moves down": "#box { position: relative; top: 2px; }",
        "boxes have other colours": "#map { filter: hue-rotate(30deg); }",
        "links have another colour": "#path button { color: #656d76; }",
        "the line below the map is missing": "#box { visibility: hidden; }",
        "a column has no heading": "#head .cell:nth-child(3) { visibility: hidden; }",
    },
    "diff": {
        "numbers move": ".cell.number { position: relative; left: 3px; }",
        "growth is blue": "#map { filter: hue-rotate(180deg); }",
        "the line below the map is missing": "#box { visibility: hidden; }",
        "stripes are missing": ".row { background: none !important; }",
    },
    "gate": {
        "a cell moves": "tr:first-child td:nth-child(2) { position: relative; left: 3px; }",
        "what is too much is not bold": "strong { font-weight: normal; }",
        "all text is grey": "body { color: #c8ced4; }",
        "a heading of a column is missing": "th:last-child { visibility: hidden; }",
        "lines of tables are missing": "td, th { border-color: transparent !important; }",
    },
    "history": {
        "the scale moves": "svg text { transform: translate(3px, 0); }",
        "colours are swapped": "svg { filter: hue-rotate(180deg); }",
        "the legend is missing": "ul.keys { visibility: hidden; }",
        "a part of the legend is missing": "ul.keys li:last-child { visibility: hidden; }",
    },
    "bisect": {
        "a label moves": "svg text.grew { transform: translate(0, 3px); }",
        "growth is green": ".grew { color: #17663a; fill: #17663a; }",
        "the legend is missing": "svg + p { visibility: hidden; }",
        "lines are missing": ".grid, .line { stroke: none; }",
    },
    "comment": {
        "a heading moves": "h3 { position: relative; left: 3px; }",
        "a number has another colour": "td strong { color: #b42318; }",
        "a heading of a column is missing": "th:last-child { visibility: hidden; }",
        "commands are proportional": "code { font-family: sans-serif; }",
    },
}
# Changes the last digit of the first number of three digits in the window.
OTHER_DIGIT = r"""(() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text; (text = texts.nextNode());) {
    const { top, bottom, width } = text.parentElement.getBoundingClientRect();
    const isShown = width && top >= 0 && bottom < innerHeight;
    if (isShown && /\d\d\d/.test(text.data))
      return text.data = text.data.replace(/(\d\d)(\d)/, (all, two, digit) =>
        two + (digit === '3' ? '8' : '3'));
  }
})()"""


@pytest.fixture(scope="module")
def camera(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Camera]:
    with Camera(tmp_path_factory.mktemp("camera")) as opened:
        yield opened


def stored(name: str) -> Pixels:
    return pixels((FOLDER / f"{name}.png").read_bytes())


def check(name: str, picture: bytes) -> None:
    """Fail if a picture differs from the stored one, and write both as files."""
    found = compare(pixels(picture), stored(name))
    if found.is_seen:
        FAILED.mkdir(parents=True, exist_ok=True)
        (FAILED / f"{name}.png").write_bytes(picture)
        (FAILED / f"{name}-difference.png").write_bytes(drawn(found, pixels(picture)))
        pytest.fail(
            f"{name}: {found.where.sum()} pixels differ, {found.in_box} of them in one box; see"
            f" {FAILED / name}.png and {name}-difference.png beside it"
        )


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_is_the_reviewed_one_and_damage_is_seen(name: str, camera: Camera) -> None:
    camera.show(name)
    check(name, camera.picture())
    camera.run("window.damage = document.head.appendChild(document.createElement('style'))")
    for what, style in DAMAGES[name].items():
        camera.run(f"damage.textContent = `{style}`")
        assert compare(pixels(camera.picture()), stored(name)).is_seen, what
    camera.run("damage.textContent = ''")
    assert not compare(pixels(camera.picture()), stored(name)).is_seen
    assert camera.run(OTHER_DIGIT)
    assert compare(pixels(camera.picture()), stored(name)).is_seen, "another digit"


def test_all_letters_are_of_the_bundled_fonts(camera: Camera) -> None:
    for name in ("report", "comment"):
        camera.show(name)
        for domain in ("DOM", "CSS"):
            camera.call(f"{domain}.enable")
        body = camera.call("DOM.querySelectorAll", selector="body *", nodeId=root(camera))
        used = {
            font["familyName"]
            for node in body["nodeIds"]
            for font in camera.call("CSS.getPlatformFontsForNode", nodeId=node)["fonts"]
        }
        assert used and used <= {"DejaVu Sans", "DejaVu Sans Mono"}


def root(camera: Camera) -> int:
    number: int = camera.call("DOM.getDocument")["root"]["nodeId"]
    return number


@pytest.mark.parametrize("flags", [("--font-render-hinting=full", "--disable-lcd-text")])
def test_other_ways_to_draw_letters_pass(
    flags: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> None:
    with Camera(tmp_path_factory.mktemp("other"), (*FLAGS, *flags)) as camera:
        for name in ("report", "bisect"):
            camera.show(name)
            check(name, camera.picture())


@pytest.mark.parametrize("name", SCREENS)
def test_other_smoothing_passes(name: str) -> None:
    old = stored(name)
    noise = np.random.default_rng(5).integers(-2, 3, old.shape).astype(np.int16)
    assert not compare(np.clip(old + noise, 0, 255).astype(np.int16), old).is_seen
    moved = (9 * old + np.roll(old, 1, axis=1)) // 10
    assert not compare(moved, old).is_seen


def test_pictures_of_other_sizes_differ() -> None:
    assert compare(stored("diff")[:-1], stored("diff")).is_seen


def test_stored_pictures_are_those_that_are_compared() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(SCREENS)
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 400_000
    assert sum(path.stat().st_size for path in FONTS.glob("*.ttf")) < 100_000
    assert "Bitstream" in (FONTS / "LICENSE.txt").read_text()
