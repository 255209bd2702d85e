"""Make the stripped twin of an image with the strip tool for its machine.

strip drops bytes that nothing in an ELF or Mach-O file declares, such as the archive of a
self-extracting program. They ship, so they are appended again.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from sizeguard.base.errors import BuildError
from sizeguard.builds.build_inputs import content_hash
from sizeguard.builds.image_tools import image_tools
from sizeguard.builds.measured_sizes import measure, segment_bytes
from sizeguard.builds.sizes import Sizes
from sizeguard.formats.undeclared_bytes import undeclared_bytes
from sizeguard.toolchains.environment import build_environment
from sizeguard.toolchains.recipe import OtherImageError

_TIMEOUT = 600.0  # seconds; 1 GB takes 10
_LLVM = ("llvm-strip", "llvm-strip-19", "llvm-strip-14")


def strip_tool(image: Path) -> str | None:
    """Find a program that strips an image; None if this machine has none."""
    return next(filter(None, map(shutil.which, _tools(image_tools(image).machine))), None)


def _tools(machine: str) -> Iterator[str]:
    if machine == platform.machine():
        yield "strip"
    elif machine:
        yield f"{machine}-linux-gnu-strip"
    yield from _LLVM


def strip(tool: str, image: Path, shipped: Path) -> None:
    """Strip an image, and check that the twin loads the same bytes.

    Raises BuildError if it does not, or if the tool changes the image itself.
    """
    given = content_hash(str(image))
    shipped.unlink(missing_ok=True)
    try:
        done = subprocess.run(
            [tool, "-o", str(shipped), str(image)],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            stdin=subprocess.DEVNULL,
            env=build_environment(),
            timeout=_TIMEOUT,
        )
    except OSError as error:
        raise BuildError(f"strip: {tool} cannot be started: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"{tool} {image.name}: {error}") from error
    if done.returncode != 0:
        told = next(iter(done.stderr.strip().splitlines()), f"ended with {done.returncode}")
        raise BuildError(f"{tool} {image.name}: {told}")
    if content_hash(str(image)) != given:
        raise BuildError(f"{tool} {image.name}: changes the image, not only the stripped copy")
    if not shipped.is_file():
        raise BuildError(f"{tool} {image.name}: makes no stripped copy")
    dropped = undeclared_bytes(image)
    if dropped and not undeclared_bytes(shipped):
        with shipped.open("ab") as file:
            file.write(dropped)
    _check_same_memory(tool, image, shipped)


def check_same_load(tool: str, image: Path, shipped: Path) -> tuple[Sizes, Sizes]:
    """Return the sizes before and after stripping. Raises BuildError if the load changed."""
    before, after = measure(image), measure(shipped)
    if before.load != after.load:
        raise BuildError(
            f"{tool} {image.name}: loads {after.load} bytes afterwards and {before.load} before:"
            " stripping changed the loaded bytes"
        )
    return before, after


def _check_same_memory(tool: str, image: Path, shipped: Path) -> None:
    """Raise BuildError if the stripped twin does not take the same memory."""
    before, after = check_same_load(tool, image, shipped)
    if before.ram != after.ram:
        raise OtherImageError(
            f"{tool} {image.name}: takes {after.ram} bytes of memory afterwards and {before.ram}"
            " before, because no section header lists them; strip: false measures the file as it is"
        )
    if segment_bytes(shipped) < segment_bytes(image):
        raise BuildError(
            f"{tool} {image.name}: removes bytes that segments load, because no section header"
            " lists them as part of the file; strip: false measures the file as it is"
        )
