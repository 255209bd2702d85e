"""Map files into memory as arrays of bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sizeguard.base.errors import InputError
from sizeguard.base.files import cannot_read
from sizeguard.base.input_files import readable
from sizeguard.columns.texts import Bytes


def mapped(path: Path, kind: str) -> Bytes:
    """Map a file; kind names its format in messages.

    Raises InputError for a file that cannot be read or is empty.
    """
    try:
        # A plain array, since 800,000 pieces of a memmap take 2.2 s, of an array 0.15 s.
        return np.memmap(readable(path), np.uint8, "r").view(np.ndarray)
    except OSError as error:
        raise cannot_read(path, error) from error
    except ValueError as error:  # an empty file cannot be mapped
        raise InputError(f"{path}: not a {kind} file: it is empty") from error
