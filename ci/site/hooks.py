"""Add the generated reference pages to the site; mkdocs calls these functions by name."""

from __future__ import annotations

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))

from reference import navigation, reference_pages


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the pages of the reference before those for contributors."""
    assert config.nav is not None
    config.nav.insert(-1, {"Reference": navigation()})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the reference."""
    for path, text in reference_pages().items():
        files.append(File.generated(config, path, content=text))
    return files
