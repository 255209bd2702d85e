"""Hash with SHA-256, and load hashlib only when the first hash is computed.

hashlib loads OpenSSL, which takes 4 ms. Commands that only read a build hash nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from io import BufferedReader


def digest(pieces: Iterable[bytes]) -> str:
    """Hash pieces one after the other, as hexadecimal digits."""
    import hashlib

    total = hashlib.sha256()
    for piece in pieces:
        total.update(piece)
    return total.hexdigest()


def content_digest(file: BufferedReader) -> str:
    """Hash what an open file has from its position on, as hexadecimal digits."""
    import hashlib

    return hashlib.file_digest(file, "sha256").hexdigest()
