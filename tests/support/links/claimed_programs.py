"""Small programs in C, linked with edited objects, and verdicts on their symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from sizeguard.builds.open_build import Files
from sizeguard.claims.verdict import Verdict
from sizeguard.gate.cache.requested_claims import RequestedClaims
from sizeguard.gate.verified_builds import verify_symbols
from tests.support.tools import tool

BODY = "{ volatile int y = x * 0x12345; for (int i = 0; i < x; ++i) y += i * 7919; return y; }\n"
NOINLINE = "__attribute__((noinline)) "
MAIN = "int api(int); int main(int c, char **v) { return api(c) + !v; }\n"
NO_CALL = "int main(void) { return 0; }\n"
CALLER = "int f(int); int api(int x) { return f(x) + f(x + 1); }\n"


Edit = Callable[[Path], None]


def unedited(_: Path) -> None:
    """Leave the files as they are."""


def linked(
    folder: Path,
    sources: dict[str, str],
    *options: str,
    flags: Sequence[str] = (),
    edit: Edit = unedited,
) -> Files:
    """Compile C sources, edit the objects, and link them. edit: gets the folder."""
    for name, text in sources.items():
        (folder / f"{name}.c").write_text(text)
        made = ("-o", folder / f"{name}.o")
        tool("gcc", "-O2", "-fno-ipa-icf", *flags, "-c", folder / f"{name}.c", *made)
    edit(folder)
    objects = tuple(folder / f"{name}.o" for name in sources)
    place, image = folder / "app.map", folder / "app"
    tool("gcc", *options, f"-Wl,-Map,{place}", *objects, "-o", image)
    return Files(image=image, objects=objects, link_map=place, folder=folder)


def judged(
    files: Files, absent: Sequence[str], present: Sequence[str] = (), base: Path | None = None
) -> list[Verdict]:
    claims = RequestedClaims(base=base)
    return list(verify_symbols(files, absent, present, claims).verdicts)


def outcomes(verdicts: Sequence[Verdict]) -> list[str]:
    return [each.verdict for each in verdicts]
