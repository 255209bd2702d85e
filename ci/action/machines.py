"""Print the machines that the requested native apps of sizeguard.yaml are built for."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sizeguard.base.errors import SizeguardError
from sizeguard.projects.project import CONFIG, chosen_apps, chosen_targets
from sizeguard.projects.reader import read_config


def machines(root: Path, apps: list[str], targets: list[str]) -> list[str]:
    """List the machines, and clang if a target chooses it; none without apps of the runtime."""
    if not (root / CONFIG).is_file():
        return []
    config = read_config(root)
    native = [app for app in chosen_apps(config, apps) if app.is_selective]
    wanted = {name for app in native for name in app.targets}
    chosen = chosen_targets(config, targets)
    used = [target for target in chosen if target.name in wanted]
    compilers = {target.compiler for target in used} & {"clang"}
    return sorted({*(target.machine for target in used), *compilers})


if __name__ == "__main__":
    asked = [os.environ.get(f"SIZEGUARD_{what}", "").split() for what in ("APPS", "TARGETS")]
    try:
        print(*machines(Path.cwd(), *asked))
    except SizeguardError as error:
        # The gate reports the error again, with a result.
        print(f"error: {error}", file=sys.stderr)
