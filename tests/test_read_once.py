"""A report reads its image once, whatever its levels are."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from sizeguard.cli.image_options import ImageOptions
from sizeguard.cli.main import cli
from tests.support.recorded_builds import recorded_runtime


@pytest.mark.parametrize("by", ["", "operator", "symbol"])
def test_an_image_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    read = []
    usual = ImageOptions.analysis_of

    def counted(self: ImageOptions, path: Path, *more: object, **options: object) -> object:
        read.append(path)
        return usual(self, path, *more, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(ImageOptions, "analysis_of", counted)
    image = recorded_runtime(tmp_path).build.image
    words = ["report", str(image), "--format", "csv", *(["--by", by] if by else [])]
    result = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert result.stdout.startswith(f"{by or 'operator'},")
    assert read == [image]
