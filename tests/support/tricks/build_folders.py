"""Build folders of a project, and what `sizeguard init` proposes for them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np

from sizeguard.projects.reader import parse_config
from sizeguard.proposals.config_text import config_text
from sizeguard.proposals.proposal import Proposal

PROGRAM = Path(shutil.which("true") or "/bin/true").resolve()
LIBRARY = min(
    (path for path in Path(np.__file__).parent.rglob("*.so")), key=lambda path: path.stat().st_size
)
CACHE = """# cache
//Type
CMAKE_BUILD_TYPE:STRING=Release
CMAKE_HOME_DIRECTORY:INTERNAL={source}
CMAKE_GENERATOR:INTERNAL=Unix Makefiles
CMAKE_CXX_FLAGS:STRING=-fno-rtti -I{source}/inc
CMAKE_CXX_FLAGS_RELEASE:STRING=-O3 -DNDEBUG
//No help, variable specified on the command line.
CMAKE_UNITY_BUILD:BOOL=ON
//Help
WITH_ZIP:BOOL=OFF
//Help
WITH_XML:BOOL=ON
SOME_FOLDER:PATH=SOME-NOTFOUND
"""


def project_of(folder: Path, ignored: str = "") -> Path:
    """Make a repository."""
    root = folder.resolve() / "my wörk"
    root.mkdir()
    subprocess.run(["git", "init", "--quiet", root], check=True)
    (root / ".gitignore").write_text(ignored)
    return root


def put(path: Path, content: str | Path = PROGRAM) -> Path:
    """Write a file, or an image that differs from others of its kind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, Path):
        path.write_bytes(content.read_bytes() + str(path).encode())
    else:
        path.write_text(content)
    return path


def check(proposal: Proposal) -> dict[str, str]:
    """Read a proposal's configuration back; return its images by name."""
    config = parse_config(proposal.root, config_text(proposal).encode())
    found = {}
    for app in config.apps:
        steps = app.steps[proposal.target]
        assert (steps.setup, steps.build) == (proposal.setup, proposal.build)
        found[app.name] = steps.images[app.image].image
    return found
