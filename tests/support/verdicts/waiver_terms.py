"""Apps and the date that waivers are read for."""

from __future__ import annotations

import datetime
from pathlib import Path

from sizeguard.projects.project import App, Config, Target

CONFIG = Config(
    (App("vision", Path("s"), (), ("linux", "mac")), App("language", Path("s"), (), ("linux",))),
    (Target("linux", "x86_64-linux"), Target("mac", "arm64-macos")),
    (),
)
TODAY = datetime.date(2026, 11, 21)
