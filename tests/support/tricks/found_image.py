"""A project whose image already exists, and its gate."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from sizeguard.builds.build_record import Build
from tests.support.tricks.any_project import AnyProject, made_project

LIMITS = "limits: {load: 1 MiB}\n"


def project_of(folder: Path, build: Build, apps: str, limits: str = LIMITS) -> AnyProject:
    """Make a project whose image already exists; main is the base, and a change is checked out."""
    project = made_project(
        folder / "project", f"{limits}apps: {apps}\n", {".gitignore": ".sizeguard/\nout/\n"}
    )
    (project.root / "out").mkdir()
    shutil.copyfile(build.image, project.root / "out" / "app")
    project.git("checkout", "--quiet", "-b", "change")
    return project


def gated(project: AnyProject, *arguments: str) -> tuple[int, dict[str, Any]]:
    ended = project.run("gate", "--format", "json", *arguments)
    result = json.loads(ended.out)
    assert result["exit_code"] == ended.code
    return ended.code, result
