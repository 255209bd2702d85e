"""Six key screens as pictures, in a browser that has only the fonts of tests/support/pages/fonts.

`python -m tests.support.pages.key_screens` takes the stored pictures again. Look at each change.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from sizeguard.attribution.group import group
from sizeguard.diff.compare import diff
from sizeguard.report.bisect.render import bisect_chunks
from sizeguard.report.diff.render import diff_chunks
from sizeguard.report.gate.render import gate_text
from sizeguard.report.history.render import history_chunks
from sizeguard.report.sizes.render import report_chunks
from sizeguard.snapshots.snapshot import read_snapshot
from tests.support.builds.recorded_builds import RECORDED
from tests.support.histories.bisect_samples import three_culprits
from tests.support.histories.made_up_history import made_up_history
from tests.support.pages.browser import Browser
from tests.support.pages.picture_compare import small
from tests.support.places import DATA, TESTS
from tests.support.results.comment_page import comment_page
from tests.support.results.gate_samples import failing

FOLDER = DATA / "pictures"
FONTS = TESTS / "support" / "pages" / "fonts"
LIGHT, DARK = "light", "dark"
BY = ("operator", "symbol")
FLAGS = ("--font-render-hinting=none", "--force-color-profile=srgb", "--hide-scrollbars")

_FONT_CONFIG = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>{fonts}</dir>
  <cachedir>{cache}</cachedir>
  <alias binding="same"><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer>
  </alias>
  <match target="font"><edit name="rgba" mode="assign"><const>none</const></edit></match>
</fontconfig>
"""


def _report() -> str:
    mlp = read_snapshot(RECORDED / "mlp.snapshot")
    return "".join(report_chunks(group(mlp, BY), "html", 0))


def _diff() -> str:
    old, new = (read_snapshot(RECORDED / f"{name}.snapshot") for name in ("mlp", "mlp_and_erf"))
    return "".join(diff_chunks(diff(old, new, BY), "html", 0))


@dataclass(frozen=True, slots=True)
class KeyScreen:
    """A page, its window and its colour scheme."""

    page: Callable[[], str]
    width: int
    height: int
    scheme: str


SCREENS = {
    "report": KeyScreen(_report, 1280, 760, LIGHT),
    "diff": KeyScreen(_diff, 780, 900, DARK),
    "gate": KeyScreen(lambda: gate_text(failing(), "html"), 480, 1120, DARK),
    "history": KeyScreen(
        lambda: "".join(history_chunks(made_up_history(), "html", 0)), 1280, 1100, LIGHT
    ),
    "bisect": KeyScreen(
        lambda: "".join(bisect_chunks(three_culprits(), "html", 0)), 780, 960, LIGHT
    ),
    "comment": KeyScreen(lambda: comment_page(failing()), 780, 960, LIGHT),
}


class Camera(Browser):
    """A browser whose pictures do not depend on the machine's fonts."""

    def __init__(self, folder: Path, flags: Sequence[str] = FLAGS) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "fonts.conf"
        config.write_text(_FONT_CONFIG.format(fonts=FONTS, cache=folder / "cache"))
        self.folder = folder
        super().__init__(folder / "profile", flags, {"FONTCONFIG_FILE": str(config)})

    def __enter__(self) -> Self:
        return self

    def show(self, name: str) -> None:
        """Open the page of a screen."""
        screen = SCREENS[name]
        page = self.folder / f"{name}.html"
        page.write_text(screen.page(), encoding="utf-8")
        features = [
            {"name": "prefers-color-scheme", "value": screen.scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.call("Emulation.setEmulatedMedia", features=features)
        here = f"location.href == {json.dumps(page.as_uri())} && document.readyState == 'complete'"
        drawn = "document.body.dataset.ready || !document.querySelector('script')"
        self.open(page, screen.width, screen.height, ready=f"{here} && !!({drawn})")


def main() -> None:
    """Write the picture of each screen."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch,
        Camera(Path(scratch)) as camera,
    ):
        for name in SCREENS:
            camera.show(name)
            (FOLDER / f"{name}.png").write_bytes(small(camera.picture()))


if __name__ == "__main__":
    main()
