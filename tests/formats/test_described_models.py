"""Models that are given in place of images, maps or programs are named as what they are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from sizeguard.base.errors import InputError
from sizeguard.cli.main import cli
from sizeguard.formats.describe import HEAD, ZIP_FILE, describe_bytes, describe_file
from tests.support.places import DATA, ROOT

EXPORTED = sorted((ROOT / "native" / "models").glob("*/model*.pt2"))
SCRIPTED = sorted((DATA / "models_torchscript").glob("*.ptl"))


@pytest.mark.parametrize(
    ("files", "kind"),
    [(EXPORTED, "an exported model (.pt2): sizeguard import"), (SCRIPTED, "a TorchScript model")],
    ids=["exported", "scripted"],
)
def test_models_are_told_from_other_zip_files(files: list[Path], kind: str) -> None:
    assert files
    for file in files:
        assert describe_file(file).startswith(kind), file
        head = file.read_bytes()[:HEAD]
        assert describe_bytes(head, len(head)).startswith(kind), f"{file}, truncated"


def test_another_zip_file_has_members(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "text").write_text("text")
    path = Path(shutil.make_archive(str(tmp_path / "other"), "zip", tmp_path / "files"))
    assert describe_file(path) == ZIP_FILE


MODEL = EXPORTED[0]
WRONG = (
    (["why", MODEL, "main"], "an exported model (.pt2): sizeguard import"),
    (["doctor", MODEL], "an exported model (.pt2): sizeguard import"),
    (["report", MODEL], "contains no image: an exported model (.pt2)"),
    (["report", SCRIPTED[0]], "contains no image: a TorchScript model"),
    (["import", MODEL.with_name("case0_input0.npy"), "-o", "out.sgp"], "(.pt2): a NumPy array"),
    (["import", ROOT / "sizeguard.yaml", "-o", "out.sgp"], "not an exported model (.pt2): text"),
    (["import", MODEL, "-o", "out.pt2"], "out.pt2: a program is not named as a model; use .sgp"),
    (["trace", DATA / "models_executorch" / "add.pte", "-o", "a.yaml"], "an ExecuTorch program"),
)


@pytest.mark.parametrize(("words", "told"), WRONG, ids=[f"{w[0]}-{t[-12:]}" for w, t in WRONG])
def test_commands_name_the_kind(
    words: list[object], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    where = ["--runtime-source", str(ROOT)] if words[0] in ("trace", "import") else []
    with pytest.raises(InputError) as error:
        CliRunner().invoke(cli, [*map(str, words), *where], catch_exceptions=False)
    assert told in str(error.value)
    assert not list(tmp_path.iterdir())
