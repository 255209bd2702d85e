"""Images of ld64.lld 14, 19 and 22 and of zig's linker, compared with their maps.

The ledger covers every byte of each image.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sizeguard.formats.linkmap import read_map
from sizeguard.formats.macho import read_macho
from sizeguard.ledger.kinds import ANALYZER, KIND
from sizeguard.ledger.ledger import Ledger
from sizeguard.ledger.macho.macho_ledger import macho_ledger
from tests.support.images.macho_samples import SOURCES, MachoSamples
from tests.support.tools import tool

pytestmark = pytest.mark.native


def unnamed(ledger: Ledger) -> int:
    """Return the loaded bytes without an owner."""
    return int(ledger.load[ledger.owners.analyzer == ANALYZER["unattributed"]].sum())


def check(path: Path, ledger: Ledger) -> None:
    assert ledger.file_bytes.sum() == ledger.image.file == path.stat().st_size
    assert ledger.load.sum() == ledger.image.load and ledger.ram.sum() == ledger.image.ram


@pytest.mark.parametrize("version", ["14", "19", "22"])
@pytest.mark.parametrize("arch", ["arm64", "x86_64"])
@pytest.mark.parametrize("kind", ["executable", "dylib"])
def test_versions_of_lld(
    macho: MachoSamples, tmp_path: Path, version: str, arch: str, kind: str
) -> None:
    objects = [macho.path(f"{name}-{arch}-g.o") for name in ("shapes", "main")]
    flags = ["-dylib", "-install_name", "@rpath/x"] if kind == "dylib" else []
    target = ["-arch", arch, "-platform_version", "macos", "13.0", "13.0"]
    image, map_ = tmp_path / "image", tmp_path / "image.map"
    tool(
        f"ld64.lld-{version}",
        *target,
        *flags,
        *objects,
        SOURCES / "libSystem.tbd",
        "-dead_strip",
        "-map",
        map_,
        "-o",
        image,
    )
    tool("llvm-strip-19", *(["-x"] if flags else []), image, "-o", tmp_path / "stripped")
    rows = read_map(map_)
    full = macho_ledger(read_macho(image))
    check(image, full)
    assert unnamed(full) == 0
    shipped = macho_ledger(read_macho(tmp_path / "stripped"), None, rows)
    check(tmp_path / "stripped", shipped)
    assert unnamed(shipped) == 0
    text = {row.name: row.size for row in rows if row.output == "__TEXT,__text"}
    for ledger in (full, shipped):
        named = np.flatnonzero(ledger.owners.kind == KIND["code"]).tolist()
        sizes = {
            ledger.symbols[int(ledger.owners.symbol[i])]: int(ledger.file_bytes[i])
            for i in named
            if ledger.owners.symbol[i] >= 0
        }
        assert sizes.keys() == text.keys()
        if arch == "arm64":
            assert sizes == text


ZIG = """
#include <stdio.h>
#include <stdlib.h>
static const char* const names[] = {"alpha", "beta"};
static char buffer[3000];
int shown(int n) { return snprintf(buffer, sizeof buffer, "%s %d", names[n & 1], n); }
int main(int argc, char** argv) { return shown(argc + atoi(argv[0])); }
"""


def test_what_zig_links(tmp_path: Path) -> None:
    """Link C with zig, and join both architectures in a fat file.

    C++ is left out, since zig would take minutes to compile its library.
    """
    (tmp_path / "main.c").write_text(ZIG)
    cache = {
        "ZIG_GLOBAL_CACHE_DIR": str(tmp_path / "cache"),
        "ZIG_LOCAL_CACHE_DIR": str(tmp_path / "cache"),
    }
    for arch, target in (("arm64", "aarch64-macos"), ("x86_64", "x86_64-macos")):
        for kind, flags in (("executable", []), ("dylib", ["-dynamiclib"])):
            path = tmp_path / f"{kind}-{arch}"
            command = [
                sys.executable,
                "-m",
                "ziglang",
                "cc",
                "-target",
                target,
                "-O2",
                *flags,
                "main.c",
                "-o",
                path.name,
            ]
            subprocess.run(
                command, cwd=tmp_path, env=os.environ | cache, check=True, capture_output=True
            )
            ledger = macho_ledger(read_macho(path))
            check(path, ledger)
            assert unnamed(ledger) == 0
            names = {
                ledger.symbols[i]
                for i in ledger.owners.symbol[ledger.owners.kind == KIND["code"]].tolist()
                if i >= 0
            }
            assert names >= {"_main"} and "_snprintf" in {
                ledger.symbols[i] for i in range(len(ledger.symbols))
            }
