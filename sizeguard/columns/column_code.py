"""C functions of columns."""

from __future__ import annotations

from pathlib import Path

from sizeguard.columns.compiled_code import CompiledCode

CODE = CompiledCode(Path(__file__).with_name("compiled"))
