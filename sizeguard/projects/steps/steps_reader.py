"""Read the build steps of any project's app: commands and files in sizeguard.yaml."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sizeguard.base.errors import InputError
from sizeguard.base.yaml.nodes import Listing, Node, Scalar, YamlTable
from sizeguard.projects.config_nodes import (
    flag_of,
    is_empty,
    path_of,
    pattern_of,
    place_of,
    table_of,
    text_of,
)
from sizeguard.projects.project import BUILD_TIMEOUT, NO_STRIP, BuildSteps, ImageFiles

IMAGE, IMAGES, SELECTION = "image", "images", "selection"
_FILES = (IMAGE, "map", "objects", "debug", "shipped", "strip", "also")
_OF_IMAGE = (*_FILES, SELECTION, "limits")
STEPS = (
    *("build", "setup", "clean", IMAGES, *_FILES, "run", "timeout", "env", "inputs", "ignore"),
    *("absent", "present", "shared_kernels"),
)
_TIME = re.compile(r"(\d{1,7}) ?(s|min|h|)", re.ASCII)
_SECONDS = {"": 1, "s": 1, "min": 60, "h": 3600}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Names of files have an app, an image, a target and a toolchain; a name of a file has 255 bytes.
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


def read_steps(fields: Mapping[str, Node], place: str) -> BuildSteps:
    """Read the steps of an app for a target.

    Raises InputError, with file, line and column.
    """
    build = _command(fields.get("build"))
    for name in ("setup", "clean", "env", "inputs", "ignore", "timeout"):
        if name in fields and not build:
            raise InputError(
                f"{place_of(fields[name])}: {name} needs a build command, but there is no build"
            )
    images = _images(fields, place)
    return BuildSteps(
        images=images,
        build=build,
        setup=_command(fields.get("setup")),
        clean=_command(fields.get("clean")),
        run=_command(fields.get("run")),
        timeout=_seconds(fields["timeout"]) if "timeout" in fields else BUILD_TIMEOUT,
        env=_variables(fields["env"]) if "env" in fields else {},
        inputs=tuple(map(path_of, items_of(fields.get("inputs")))),
        ignore=tuple(map(text_of, items_of(fields.get("ignore")))),
        absent=tuple(map(text_of, items_of(fields.get("absent")))),
        present=tuple(map(text_of, items_of(fields.get("present")))),
        shared_kernels=_shared_kernels(fields, images),
    )


def image_limits(fields: Mapping[str, Node]) -> Iterator[tuple[str, Node]]:
    """Yield the name and the limits of each image that has its own."""
    if isinstance(fields.get(IMAGES), YamlTable):
        for name, value in table_of(fields[IMAGES], None, "").items():
            if isinstance(value, YamlTable):
                own = table_of(value, _OF_IMAGE, "")
                if "limits" in own:
                    yield name, own["limits"]


def items_of(node: Node | None) -> list[Node]:
    """Return the items of a list, or a single item as a list."""
    if node is None:
        return []
    return list(node.items) if isinstance(node, Listing) else [node]


def _images(fields: Mapping[str, Node], place: str) -> Mapping[str, ImageFiles]:
    if IMAGES not in fields:
        return {"": _files(fields, place)}
    node = fields[IMAGES]
    alone = next((name for name in (*_FILES, SELECTION) if name in fields), "")
    if alone:
        raise InputError(
            f"{place_of(fields[alone])}: {alone} belongs to one image; write it below the "
            f"image's name in {IMAGES}"
        )
    found = {}
    expected = f"{IMAGES} is a table of files by name"
    for name, value in table_of(node, None, expected).items():
        if not NAME.fullmatch(name):
            raise InputError(
                f"{place_of(value)}: '{name}' is not an image name: at most 64 letters, digits,"
                " '.', '-' and '_'"
            )
        if isinstance(value, YamlTable):
            found[name] = _files(table_of(value, _OF_IMAGE, ""), place_of(value))
        else:
            found[name] = ImageFiles(path_of(value))
    if not found:
        raise InputError(f"{place_of(node)}: names no images")
    return found


def _files(fields: Mapping[str, Node], place: str) -> ImageFiles:
    if IMAGE not in fields:
        raise InputError(f"{place}: names no {IMAGE}, the file to measure")
    strip = fields.get("strip")
    return ImageFiles(
        image=path_of(fields[IMAGE]),
        map=path_of(fields["map"]) if "map" in fields else "",
        objects=tuple(map(pattern_of, items_of(fields.get("objects")))),
        debug=path_of(fields["debug"]) if "debug" in fields else "",
        shipped=path_of(fields["shipped"]) if "shipped" in fields else "",
        strip=_strip(strip) if strip is not None else "",
        also=tuple(map(pattern_of, items_of(fields.get("also")))),
        selection=path_of(fields[SELECTION]) if SELECTION in fields else "",
    )


def _shared_kernels(fields: Mapping[str, Node], images: Mapping[str, ImageFiles]) -> bool:
    node = fields.get("shared_kernels")
    if not flag_of(node, False):
        return False
    if node is not None and sum(bool(files.selection) for files in images.values()) < 2:
        raise InputError(
            f"{place_of(node)}: shared_kernels is for several images with a selection each"
        )
    return True


def _strip(node: Node) -> str:
    if isinstance(node, Scalar) and node.kind == "bool":
        return NO_STRIP if node.text.lower() in ("false", "no", "off") else ""
    return text_of(node)


def _command(node: Node | None) -> str:
    """Return a command without the line ends that block styles of YAML add."""
    if node is None:
        return ""
    text = text_of(node)
    return text.rstrip("\n") or text


def _seconds(node: Node) -> float:
    found = _TIME.fullmatch(text_of(node).strip())
    if not found or not int(found[1]):
        raise InputError(f"{place_of(node)}: '{text_of(node)}' is not a time; write 90 s or 30 min")
    return float(int(found[1]) * _SECONDS[found[2]])


def _variables(node: Node) -> Mapping[str, str | None]:
    """Read the names of variables to pass on, or a table of variables with values."""
    found: dict[str, str | None] = {}
    if isinstance(node, YamlTable):
        for name, value in table_of(node, None, "").items():
            found[name] = value.text if isinstance(value, Scalar) and not is_empty(value) else None
    else:
        found = dict.fromkeys(map(text_of, items_of(node)))
    for name in found:
        if not _VARIABLE.fullmatch(name):
            raise InputError(f"{place_of(node)}: '{name}' is not a variable name")
    return found
