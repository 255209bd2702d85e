"""Turns a variant and a toolchain into a built binary, its stripped twin and build.json."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sizeguard.build.fingerprint import fingerprint, sources_hash
from sizeguard.build.record import RECORD, Build, read_build
from sizeguard.build.sizes import measure
from sizeguard.build.toolchain import Toolchain, require
from sizeguard.build.variants import Variant
from sizeguard.errors import BuildError
from sizeguard.files import write_atomic, write_if_changed
from sizeguard.formats.elf import read_elf
from sizeguard.progress import Progress

_STEP = re.compile(r"\[(\d+)/(\d+)\] (.*)")


def build(root: Path, variant: Variant, toolchain: Toolchain, folder: Path, jobs: int | None = None) -> Build:
    """Build, or find that nothing changed. Raises BuildError with the first error and the log's path."""
    require("cmake", "ninja", "flatc", "strip")
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    detail = f"{toolchain.compiler} {toolchain.compiler_version} -O{variant.optimize}  {toolchain.target}"
    with _locked(folder), Progress(f"building {variant.app or variant.kind}", detail) as progress:
        _configure(root, variant, toolchain, folder)
        _compile(folder, jobs, progress)
        return _record(root, variant, toolchain, folder)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Two commands may want one build: the second waits."""
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _configure(root: Path, variant: Variant, toolchain: Toolchain, folder: Path) -> None:
    command = ["cmake", "-S", str(root / "native"), "-B", str(folder), "-G", "Ninja", *variant.cmake_options(toolchain)]
    sizeguard = Path(sys.executable).parent / "sizeguard"
    if sizeguard.is_file():
        command.append(f"-DSIZEGUARD={sizeguard}")
    text = "\n".join(command)
    record = folder / "configure.txt"
    if record.is_file() and record.read_text() == text and (folder / "build.ninja").is_file():
        return  # ninja configures again by itself when CMake's files change
    # Options that are no longer given would live on in the cache.
    (folder / "CMakeCache.txt").unlink(missing_ok=True)
    for detected in folder.glob("CMakeFiles/3.*"):
        shutil.rmtree(detected)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    log = folder / "configure.log"
    write_atomic(log, done.stdout + done.stderr)
    if done.returncode != 0:
        raise BuildError(f"configuring {folder.name} failed: {_first_error(done.stderr)}; log: {log}")
    write_atomic(record, text)


def _compile(folder: Path, jobs: int | None, progress: Progress) -> None:
    command = ["ninja", "-C", str(folder), *([f"-j{jobs}"] if jobs else [])]
    lines = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "NINJA_STATUS": "[%f/%t] "}
    ) as process:
        for line in process.stdout or ():
            lines.append(line)
            step = _STEP.match(line)
            if step:
                progress.step(int(step[1]), int(step[2]), Path(step[3].split()[-1]).name)
    log = folder / "build.log"
    write_atomic(log, "".join(lines))
    if process.returncode != 0:
        raise BuildError(f"building {folder.name} failed: {_first_error(''.join(lines))}; log: {log}")


def _first_error(output: str) -> str:
    """The first line that says what is wrong: a compiler's, a linker's, or what CMake was told to say."""
    lines = [line.strip() for line in output.splitlines()]
    for i, line in enumerate(lines):
        if line.startswith("CMake Error"):
            told = [text for text in lines[i + 1 :] if text]
            return " ".join(told[:3])
        if re.search(r"(?<![\w-])error[: ]|^\w+Error: |undefined reference|ERROR:", line) and not line.startswith("ninja: "):
            return line
    return lines[-1] if lines else "no message"


def _record(root: Path, variant: Variant, toolchain: Toolchain, folder: Path) -> Build:
    image = folder / "run_program"
    shipped = folder / "run_program.stripped"
    record = folder / RECORD
    if not shipped.is_file() or shipped.stat().st_mtime_ns < image.stat().st_mtime_ns:
        _strip(image, shipped)
    effective = folder / "operators" / "code" / "selected_operators.yaml"
    inputs = {
        "sources": sources_hash(root),
        "selection": effective.read_text(),
        "variant": variant.name,
        "optimize": variant.optimize,
        "sanitize": variant.sanitize,
        "compiler": f"{toolchain.compiler} {toolchain.compiler_version}",
        "linker": f"{toolchain.linker} {toolchain.linker_version}",
        "target": toolchain.target,
    }
    result = Build(
        variant=variant.name,
        app=variant.app,
        target=toolchain.target,
        toolchain=toolchain.name,
        optimize=variant.optimize,
        image=image,
        shipped=shipped,
        map=folder / "run_program.map",
        gc_log=folder / "run_program.gc.txt",
        objects=tuple(_link_inputs(folder)),
        selection=effective,
        model_tracer=folder / "model_tracer" if variant.kind == "instrumented" else None,
        fingerprint=fingerprint(inputs),
        sizes=measure(read_elf(shipped)),
    )
    write_if_changed(record, json.dumps(result.to_json(), indent=2) + "\n")
    return read_build(record)


def _strip(image: Path, shipped: Path) -> None:
    """Make the stripped twin, and be sure that it loads the same bytes."""
    done = subprocess.run(["strip", "--strip-all", "-o", str(shipped), str(image)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"strip {image}: {done.stderr.strip()}")
    before, after = read_elf(image).load, read_elf(shipped).load
    if before != after:
        raise BuildError(f"{shipped} loads {after} bytes and {image} {before}: stripping changed what is loaded")


def _link_inputs(folder: Path) -> list[Path]:
    """The objects and archives of the link, in its order."""
    done = subprocess.run(["ninja", "-C", str(folder), "-t", "commands", "run_program"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"ninja -t commands in {folder}: {done.stderr.strip()}")
    link = done.stdout.rstrip().rsplit("\n", 1)[-1]
    return [folder / word for word in shlex.split(link) if word.endswith((".o", ".a"))]
