"""The shipped file of a build gets the verdicts of the build, and of no other."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sizeguard.builds import RECORD
from sizeguard.builds.build_record import Build
from tests.support.places import SIZEGUARD


def verified(path: Path, selection: Path) -> tuple[int, dict[str, dict[str, int]], str]:
    """Verify a file; return the exit code, the verdicts by kind, and messages."""
    words = [SIZEGUARD, "verify", path, "--selection", selection, "--format", "json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    counts: dict[str, dict[str, int]] = {}
    for claim in json.loads(done.stdout)["claims"] if done.stdout else ():
        of = counts.setdefault(claim["kind"], {})
        of[claim["verdict"]] = of.get(claim["verdict"], 0) + 1
    return done.returncode, counts, done.stderr


@pytest.mark.native
def test_a_shipped_file_is_judged_as_its_build(
    selective: Callable[..., Build], full_build: Build, tmp_path: Path
) -> None:
    built = selective("mlp")
    assert built.selection is not None
    folder = built.image.parent
    code, counts, _ = verified(folder, built.selection)
    assert code == 0
    for each in (built.shipped, built.image):
        assert verified(each, built.selection)[:2] == (code, counts), each.name

    kept = tmp_path / "kept"
    shutil.copy2(built.shipped, kept)
    try:
        content = bytearray(kept.read_bytes())
        at = content.index(b"aten::")
        content[at + 6 : at + 8] = b"zz"
        built.shipped.write_bytes(content)
        code, _, said = verified(built.shipped, built.selection)
        assert (code, "stripped: .rodata differs" in said) == (3, True)
        shutil.copy2(full_build.shipped, built.shipped)
        code, _, said = verified(built.shipped, built.selection)
        assert (code, "is of another build" in said) == (3, True)
    finally:
        shutil.copy2(kept, built.shipped)

    # Without a build.json that names it, a stripped file is undecided, also beside its link record.
    for name in (built.shipped.name, f"{built.image.name}.link.json"):
        shutil.copy2(folder / name, tmp_path / name)
    for path in (tmp_path / built.shipped.name, kept):
        code, counts, _ = verified(path, built.selection)
        assert code == 3
        assert not any("fail" in of for of in counts.values()), counts
    shutil.copy2(folder / RECORD, tmp_path / RECORD)
    assert verified(kept, built.selection)[0] == 3
