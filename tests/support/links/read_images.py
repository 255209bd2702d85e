"""Record which images a command reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sizeguard.cli.image_options import ImageOptions


def read_images(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the list to which the path of each image is added when it is read."""
    read: list[Path] = []
    usual: Callable[..., object] = ImageOptions.analysis_of

    def recorded(self: ImageOptions, path: Path, *more: object, **options: object) -> object:
        read.append(path)
        return usual(self, path, *more, **options)

    monkeypatch.setattr(ImageOptions, "analysis_of", recorded)
    return read
