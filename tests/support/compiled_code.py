"""Compile the package's C code before tests run: unit tests start no compiler."""

from __future__ import annotations

import os
from pathlib import Path

from sizeguard.base.kept.compiled_library import compiled_library
from sizeguard.columns import compiled_code

from .places import ROOT

# Set in the environment of a run of tests that has AddressSanitizer preloaded.
SANITIZE = "SIZEGUARD_TEST_SANITIZED"
SANITIZERS = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def c_folders() -> list[Path]:
    """Return the folders of C code that the package loads into itself."""
    return sorted(path for path in (ROOT / "sizeguard").rglob("compiled") if path.is_dir())


def compile_all() -> None:
    """Compile what is not kept yet, with the sanitizers if they are asked for."""
    if os.environ.get(SANITIZE):
        compiled_code.FLAGS = (*compiled_code.FLAGS, *SANITIZERS)
    for folder in c_folders():
        assert compiled_library(sorted(folder.glob("*.[ch]")), compiled_code.FLAGS), folder
