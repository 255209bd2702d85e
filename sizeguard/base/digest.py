"""Hash with SHA-256, and load hashlib only when the first hash is computed.

hashlib loads OpenSSL, which takes 4 ms. Commands that only read a build hash nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import _Hash
    from io import BufferedReader


def sha256(data: bytes = b"") -> _Hash:
    """Start a hash with some bytes."""
    import hashlib

    return hashlib.sha256(data)


def content_digest(file: BufferedReader) -> str:
    """Hash what an open file has from its position on, as hexadecimal digits."""
    import hashlib

    return hashlib.file_digest(file, "sha256").hexdigest()
