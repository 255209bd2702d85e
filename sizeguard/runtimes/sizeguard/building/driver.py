"""Build a variant: the binary, its stripped twin and build.json."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from sizeguard.base.errors import BuildError
from sizeguard.base.files import locked, write_atomic, write_if_changed
from sizeguard.base.fingerprint import fingerprint
from sizeguard.base.kept.hash_cache import HashCache
from sizeguard.base.kept.moment import ask_again
from sizeguard.base.progress import Progress
from sizeguard.builds.build_inputs import BuildInputs, content_hash, input_changes
from sizeguard.builds.build_record import RECORD, Build, read_build
from sizeguard.builds.measured_sizes import measure
from sizeguard.builds.shipped_libraries import (
    STRIPPED,
    libraries_of,
    library_files,
    with_libraries,
)
from sizeguard.runtimes.sizeguard.building.cmake_trace import keep_trace, trace_options
from sizeguard.runtimes.sizeguard.building.made_files import (
    MadeFiles,
    read_made,
    temporary_folder,
)
from sizeguard.runtimes.sizeguard.building.read_inputs import made_and_read, read_inputs
from sizeguard.runtimes.sizeguard.building.stale_outputs import (
    begin,
    finish,
    first_moving,
    forget_everything,
    has_cmake_files,
    recorded_inputs,
    remove_outputs,
    remove_stale,
)
from sizeguard.runtimes.sizeguard.building.untouched import (
    HASHES,
    keep_untouched,
    untouched_build,
)
from sizeguard.runtimes.sizeguard.building.variants import Variant, check_combination
from sizeguard.runtimes.sizeguard.native_tree import CONFIGURED, FOLDER
from sizeguard.toolchains.environment import (
    build_environment,
    code_variables,
    recorded_environment,
)
from sizeguard.toolchains.links.asked_link import record_link
from sizeguard.toolchains.logged import first_error
from sizeguard.toolchains.stripped import check_same_load
from sizeguard.toolchains.targets import TargetMachine, find_target
from sizeguard.toolchains.toolchain import Toolchain, require

_NOTHING = "ninja: no work to do."
_ATTEMPTS = 3  # retries; files that still change then change all the time
_TICK = 0.01  # seconds by which file times may lag behind the clock
_STEP = re.compile(r"\[(\d+)/(\d+)\] (.*)")


# More than 40 lines: the steps of an attempt in order, and when to try again.
def build(
    root: Path, variant: Variant, toolchain: Toolchain, folder: Path, jobs: int | None = None
) -> Build:
    """Build, or detect that nothing changed.

    Raises BuildError with the first error and the log's path.
    """
    check_combination(variant, toolchain)
    require("cmake", "ninja", "flatc")
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    detail = (
        f"{toolchain.compiler} {toolchain.compiler_version} -O{variant.optimize} "
        f" {toolchain.target}"
    )
    with (
        locked(folder / ".lock"),
        Progress(f"building {variant.app or variant.kind}", detail) as progress,
    ):
        done = untouched_build(root, variant, toolchain, folder)
        if done is not None:
            return done
        hashes = HashCache(folder / HASHES, content_hash)
        for _ in range(_ATTEMPTS):
            ask_again()
            start = time.time_ns()
            time.sleep(_TICK)  # files written before are older than start
            before = recorded_inputs(folder)
            begin(folder)
            made, is_same = _prepare(folder, before, hashes)
            _configure(root, variant, toolchain, folder)
            is_same = _make(root, variant, toolchain, folder, jobs, progress) and is_same
            if before is not None and is_same:
                inputs = before
            else:
                target = find_target(toolchain.target)
                _recorded_link(folder, folder / variant.image_name(toolchain), target)
                inputs = read_inputs(made, toolchain.linker, target.strip, hashes)
            ask_again()
            moving = first_moving(inputs, hashes, start)
            if not moving:
                result = _record(root, variant, toolchain, folder, inputs)
                if inputs is not before:
                    made.save({*made_and_read(folder), str(result.shipped)}, hashes)
                hashes.save()
                finish(folder)
                keep_untouched(root, variant, toolchain, folder)
                return result
        raise BuildError(f"{moving}: changed while {folder.name} was built")


def _prepare(folder: Path, before: BuildInputs | None, hashes: HashCache) -> tuple[MadeFiles, bool]:
    """Remove outdated outputs.

    Returns the files that builds made there, and whether they and all inputs are unchanged.
    """
    made = read_made(folder)
    if before is None:
        forget_everything(folder)
        return made.began(), False
    changes = input_changes(before, hashes, recorded_environment())
    remove_stale(folder, before, changes)
    others = made.changed_outputs(hashes)
    remove_outputs(folder, others)
    return made.without(others).began(), not changes and not others


def _make(
    root: Path,
    variant: Variant,
    toolchain: Toolchain,
    folder: Path,
    jobs: int | None,
    progress: Progress,
) -> bool:
    """Run ninja; return whether it had nothing to do."""
    try:
        return _compile(folder, jobs, progress)
    except _SourceIsGone:
        (folder / CONFIGURED).unlink(missing_ok=True)
        _configure(root, variant, toolchain, folder)
        return _compile(folder, jobs, progress)


class _SourceIsGone(BuildError):
    """The folder was configured with a source that no longer exists, and ninja cannot recover."""


def _configure(root: Path, variant: Variant, toolchain: Toolchain, folder: Path) -> None:
    """Run CMake, unless the folder is configured by the same command."""
    command = _cmake_command(root, variant, toolchain, folder)
    text = "\n".join(command)
    record = folder / CONFIGURED
    if has_cmake_files(folder) and record.is_file() and record.read_text() == text:
        return  # ninja configures again when CMake's files change
    # Remove the configuration until this one succeeds, because a failed one leaves partial files.
    record.unlink(missing_ok=True)
    # The cache would keep options that are no longer given.
    (folder / "CMakeCache.txt").unlink(missing_ok=True)
    for detected in folder.glob("CMakeFiles/3.*"):
        shutil.rmtree(detected)
    environment = {**build_environment(), "TMPDIR": str(temporary_folder(folder))}
    done = subprocess.run(
        [*command, *trace_options(folder)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    log = folder / "configure.log"
    write_atomic(log, done.stdout + done.stderr)
    if done.returncode != 0:
        raise BuildError(
            f"configuring {folder.name} failed: {first_error(done.stderr) or 'no message'};"
            f" log: {log}"
        )
    keep_trace(folder)
    write_atomic(record, text)


def _cmake_command(root: Path, variant: Variant, toolchain: Toolchain, folder: Path) -> list[str]:
    options = variant.cmake_options(root, toolchain)
    command = ["cmake", "-S", str(root / FOLDER), "-B", str(folder), "-G", "Ninja", *options]
    sizeguard = Path(sys.executable).parent / "sizeguard"
    return [*command, f"-DSIZEGUARD={sizeguard}"] if sizeguard.is_file() else command


def _compile(folder: Path, jobs: int | None, progress: Progress) -> bool:
    """Run ninja; return whether it had nothing to do."""
    command = ["ninja", "-C", str(folder), *([f"-j{jobs}"] if jobs else [])]
    lines = []
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={
            **build_environment(),
            "NINJA_STATUS": "[%f/%t] ",
            "TMPDIR": str(temporary_folder(folder)),
        },
    ) as process:
        for line in process.stdout or ():
            lines.append(line)
            step = _STEP.match(line)
            if step:
                progress.step(int(step[1]), int(step[2]), Path(step[3].split()[-1]).name)
    log = folder / "build.log"
    write_atomic(log, "".join(lines))
    output = "".join(lines)
    if process.returncode != 0:
        gone = "missing and no known rule to make it" in output
        raise (_SourceIsGone if gone else BuildError)(
            f"building {folder.name} failed: {first_error(output) or 'no message'}; log: {log}"
        )
    return _NOTHING in output


# More than 40 lines: a line for each field of the record.
def _record(
    root: Path, variant: Variant, toolchain: Toolchain, folder: Path, inputs: BuildInputs
) -> Build:
    """Strip the image, and write build.json."""
    target = find_target(toolchain.target)
    image = folder / variant.image_name(toolchain)
    shipped = folder / f"{image.name}{STRIPPED}"
    record = folder / RECORD
    if not shipped.is_file() or shipped.stat().st_mtime_ns < image.stat().st_mtime_ns:
        _strip(target, image, shipped)
    tracer = folder / "model_tracer" if variant.kind == "instrumented" else None
    libraries = _stripped_libraries(target, folder, [image, *filter(None, [tracer])])
    debug = _debug_symbols(folder, image) if target.is_macho else None
    link_line, link_command = _recorded_link(folder, image, target)
    files = (word for word in link_line if not word.startswith("-"))  # -Wl,…=run_program.lto.o
    inputs_of_link = tuple(folder / word for word in files if word.endswith((".o", ".a")))
    effective = folder / "operators" / "code" / "selected_operators.yaml"
    result = Build(
        variant=variant.name,
        app=variant.app,
        target=toolchain.target,
        toolchain=toolchain.name,
        optimize=variant.optimize,
        image=image,
        shipped=shipped,
        map=folder / f"{image.name}.map",
        gc_log=folder / f"{image.name}.gc.txt",
        objects=tuple(lto_objects(image)) if variant.lto else inputs_of_link,
        selection=effective,
        asked=variant.selection.resolve() if variant.selection else None,
        dtypes=variant.dtypes,
        model_tracer=tracer,
        fingerprint=fingerprint(_inputs(root, variant, toolchain, effective, inputs)),
        sizes=with_libraries(measure(shipped), libraries_of(folder, libraries)),
        link=variant.link,
        lto=variant.lto,
        lto_inputs=inputs_of_link if variant.lto else (),
        debug=debug,
        link_command=link_command,
        inputs=inputs,
    )
    write_if_changed(record, json.dumps(result.to_json(), indent=2) + "\n")
    return read_build(record)


def _inputs(
    root: Path, variant: Variant, toolchain: Toolchain, effective: Path, inputs: BuildInputs
) -> Mapping[str, object]:
    """Return everything that a build depends on, the same in every folder.

    effective: its effective selection
    """
    own, top = f"{effective.parents[2]}/", f"{root}/"
    read = {
        path.removeprefix(top): content
        for path, content in inputs.files.items()
        if not path.startswith(own)
    }
    return {
        "read": read,
        "tools": sorted(set(inputs.tools.values())),
        "environment": code_variables(inputs.environment),
        "selection": effective.read_text(),
        "variant": variant.name,
        "optimize": variant.optimize,
        "sanitize": variant.sanitize,
        "compiler": f"{toolchain.compiler} {toolchain.compiler_version}",
        "linker": f"{toolchain.linker} {toolchain.linker_version}",
        "target": toolchain.target,
        "headers": toolchain.headers_version,
        "link": variant.link,
        "lto": variant.lto,
    }


def _strip(target: TargetMachine, image: Path, shipped: Path) -> None:
    """Make the stripped twin, and check that it loads the same bytes."""
    # A dynamic library of macOS keeps the symbols that others bind to.
    what = ["--strip-all"] if not target.is_macho or image.suffix != ".dylib" else ["-x"]
    done = subprocess.run(
        [target.strip, *what, "-o", str(shipped), str(image)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise BuildError(f"{target.strip} {image}: {done.stderr.strip()}")
    check_same_load(target.strip, image, shipped)


def _stripped_libraries(target: TargetMachine, folder: Path, apart: list[Path]) -> list[Path]:
    """Strip the other linked files, and return them; `apart` is not stripped."""
    found = library_files(folder, apart)
    for path in found:
        twin = path.with_name(path.name + STRIPPED)
        if path.name.endswith(STRIPPED):
            if not path.with_name(path.stem).exists():
                path.unlink()  # of a library that is no longer built
        elif not twin.is_file() or twin.stat().st_mtime_ns < path.stat().st_mtime_ns:
            _strip(target, path, twin)
    return library_files(folder, apart)


def _debug_symbols(folder: Path, image: Path) -> Path:
    """Collect the debug information, which ld64 leaves in the objects, into a .dSYM."""
    bundle = folder / f"{image.name}.dSYM"
    inside = bundle / "Contents" / "Resources" / "DWARF" / image.name
    if inside.is_file() and inside.stat().st_mtime_ns >= image.stat().st_mtime_ns:
        return bundle
    command = ["dsymutil-19", "--oso-prepend-path", str(folder), str(image), "-o", str(bundle)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or "warning" in done.stderr:
        raise BuildError(f"dsymutil {image}: {done.stderr.strip()}")
    return bundle


def _recorded_link(
    folder: Path, image: Path, target: TargetMachine
) -> tuple[list[str], Path | None]:
    """Return the link command and the record of the linker's own run; None for macOS."""
    line = _link_line(folder, image)
    return line, None if target.is_macho else record_link(line, folder, image)


def _link_line(folder: Path, image: Path) -> list[str]:
    """Return the words of the link command."""
    done = subprocess.run(
        ["ninja", "-C", str(folder), "-t", "commands", image.name],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise BuildError(f"ninja -t commands in {folder}: {done.stderr.strip()}")
    return shlex.split(done.stdout.rstrip().rsplit("\n", 1)[-1])


def lto_objects(image: Path) -> list[Path]:
    """List the objects that the linker made from LTO inputs and kept.

    Raises BuildError if it kept none, because the image has no other objects.
    """
    patterns = (f"{image.name}.lto*.o", f"{image.name}.ltrans*.ltrans.o", f"{image.name}.lto/*.o")
    found = sorted(path for pattern in patterns for path in image.parent.rglob(pattern))
    if not found:
        raise BuildError(f"{image}: the linker kept no LTO objects")
    return found
