"""Record links by each compiler and linker, and compare their live set with the linker's own log.

The full product of compilers, linkers, and ways in which builds link. Each build is made without
and with the record: the image must have the same bytes. Exit code 1 if anything differs.
"""

from __future__ import annotations

import itertools
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.support.links.recorded_links import (
    FLAGS,
    REMOVE,
    UNUSED,
    record,
    record_file,
    removed,
    run,
    write_sources,
)
from tests.support.places import LLD
from tests.support.script import Tally, options_of

COMPILERS = ("gcc", "clang-19", "aarch64-linux-gnu-gcc")
LINKERS = {
    "bfd": "-fuse-ld=bfd",
    "gold": "-fuse-ld=gold",
    "lld-14": "-fuse-ld=lld -B/usr/lib/llvm-14/bin",
    "lld-19": " ".join(LLD),
    "lld-22": "-fuse-ld=lld -B/usr/lib/llvm-22/bin",
    "mold": "-B/usr/libexec/mold",
}
# {cc}: compiler and flags; {ld}: flags of the link. Each makes `out`.
WAYS = {
    "temporary": "{cc} main.c one.c three.c {ld} -o out",
    "objects": "{cc} -c main.c one.c three.c && {cc} main.o one.o three.o {ld} -o out",
    "archive": "{cc} -c one.c three.c && ar rc liball.a one.o three.o && {cc} main.c -L. -lall {ld}"
    " -o out && rm liball.a",
    "thin": "{cc} -c one.c three.c && ar rcT all.a one.o three.o && {cc} main.c all.a {ld} -o out",
    "whole": "{cc} -c one.c three.c && ar rc all.a one.o three.o && {cc} main.c -Wl,--whole-archive"
    " all.a -Wl,--no-whole-archive {ld} -o out",
    "response": "{cc} -c one.c three.c && mkdir -p 'x y' && mv one.o 'x y' && printf '%s\\n'"
    " '\"x y/one.o\"' three.o > '@a.rsp' && {cc} main.c '@@a.rsp' {ld} -o out && rm '@a.rsp'",
    "shared": "{cc} -fPIC -shared main.c one.c three.c {ld} -o out",
    "script": "{cc} -fPIC -c main.c one.c three.c && echo '{{ main; local: *; }};' > v &&"
    " {cc} -shared main.o one.o three.o -Wl,--version-script=v {ld} -o out && rm v",
    "static": "{cc} -static main.c one.c three.c {ld} -o out",
    "lto": "{cc} -flto -c main.c one.c three.c && {cc} -flto main.o one.o three.o {ld} -o out",
    "cleared": "env -i PATH=/usr/bin:/bin {cc} main.c one.c three.c {ld} -o out",
    "libtool": "libtool --quiet --tag=CC --mode=compile {cc} -c three.c -o three.lo && libtool"
    " --quiet --tag=CC --mode=compile {cc} -c one.c -o one.lo"
    " && libtool --quiet --tag=CC --mode=link"
    " {cc} three.lo -o libthree.la && libtool --tag=CC --mode=link {cc} main.c one.lo libthree.la"
    " {ld} -o out",
    "rustc": "rustc -C opt-level=s -C linker=./driver -C codegen-units=1 main.rs -o out",
}
_RUST = 'fn main() { println!("{}", std::env::args().count()); }\n'


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--compiler", action="append", choices=COMPILERS)
    parser.add_argument("--linker", action="append", choices=tuple(LINKERS))
    parser.add_argument("--way", action="append", choices=tuple(WAYS))
    options = parser.parse_args()
    started = time.monotonic()
    tally = Tally()
    refused: list[str] = []
    product = itertools.product(
        options.compiler or COMPILERS, options.linker or LINKERS, options.way or WAYS
    )
    with tempfile.TemporaryDirectory() as name:
        for compiler, linker, way in product:
            folder = write_sources(Path(name) / "a 'b' é")
            done = run_case(folder, compiler, LINKERS[linker], way)
            shutil.rmtree(folder)
            if done is None:
                refused.append(f"{compiler} {linker} {way}")
            else:
                tally.check(not done, f"{compiler} {linker} {way}: {done}"[:600])
    print(f"{len(refused)} refused by compiler or linker without a record: {', '.join(refused)}")
    return tally.close(f"{time.monotonic() - started:.0f} s")


def run_case(folder: Path, compiler: str, flags: str, way: str) -> str | None:
    """Return what is wrong, empty if nothing is, None if the plain build fails."""
    link = f"{REMOVE} {flags}"
    script = WAYS[way].format(cc=f"{compiler} {FLAGS}", ld=link)
    (folder / "main.rs").write_text(_RUST)
    driver = folder / "driver"
    driver.write_text(f'#!/bin/sh\nexec {compiler} "$@" {link} >log.txt 2>&1\n')
    driver.chmod(0o755)
    if run(folder, "sh", "-c", script).code != 0:
        return None
    out = folder / "out"
    plain = out.read_bytes()
    out.unlink()
    done = record(folder, script)
    if done.code != 0:
        return f"ended with {done.code}: {done.log[-300:]}"
    if out.read_bytes() != plain:
        return "other bytes"
    log = (folder / "log.txt").read_text() if way == "rustc" else done.log
    by_log, by_model = removed(record_file(folder, out), log)
    if by_log != by_model:
        return f"log {by_log - by_model}, model {by_model - by_log}"
    gone = {section.removeprefix(".text.") for _, section in by_model}
    has_functions = way not in ("shared", "lto", "rustc", "whole")
    return f"not removed: {UNUSED - gone}" if has_functions and not gone >= UNUSED else ""


if __name__ == "__main__":
    sys.exit(main())
