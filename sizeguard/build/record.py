"""Turns build.json into a build, a build into build.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from sizeguard.build import RECORD as RECORD
from sizeguard.build.sizes import Sizes
from sizeguard.errors import InputError

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Build:
    """A built variant.

    image:       run_program, or the shared library, with symbols; with debug information, too, unless debug is given
    shipped:     its stripped twin, which loads the same bytes
    objects:     what was linked, in order; with LTO, what the linker made of it and kept
    selection:   the effective selection
    asked:       the selection file that was given; None if everything is kept
    dtypes:      whether its dtypes count, or its operators alone
    fingerprint: hash of all that went in
    link:        executable, static, static-pie or shared
    lto:         full or thin; empty without optimization at link time
    lto_inputs:  what the linker made the objects of, in order; empty without LTO
    debug:       the .dSYM of a build for macOS, which holds the debug information
    link_command: the linker's own command line, recorded beside the image; None for macOS
    """

    variant: str
    app: str
    target: str
    toolchain: str
    optimize: str
    image: Path
    shipped: Path
    map: Path
    gc_log: Path
    objects: tuple[Path, ...]
    selection: Path
    model_tracer: Path | None
    fingerprint: str
    sizes: Sizes
    link: str = "executable"
    lto: str = ""
    lto_inputs: tuple[Path, ...] = ()
    debug: Path | None = None
    asked: Path | None = None
    dtypes: bool = True
    link_command: Path | None = None

    def to_json(self) -> dict[str, object]:
        return {
            "schema_version": SCHEMA_VERSION,
            "variant": self.variant,
            "app": self.app,
            "target": self.target,
            "toolchain": self.toolchain,
            "optimize": self.optimize,
            "link": self.link,
            "lto": self.lto,
            "image": str(self.image),
            "shipped": str(self.shipped),
            "map": str(self.map),
            "gc_log": str(self.gc_log),
            "debug": str(self.debug) if self.debug else None,
            "link_command": str(self.link_command) if self.link_command else None,
            "objects": [str(path) for path in self.objects],
            "lto_inputs": [str(path) for path in self.lto_inputs],
            "selection": str(self.selection),
            "asked_selection": str(self.asked) if self.asked else None,
            "dtypes": self.dtypes,
            "model_tracer": str(self.model_tracer) if self.model_tracer else None,
            "fingerprint": self.fingerprint,
            "sizes": asdict(self.sizes),
        }


def read_build(path: Path) -> Build:
    """Read build.json, or the one in a folder. Raises InputError for what is none."""
    file = path / RECORD if path.is_dir() else path
    try:
        content = json.loads(file.read_text())
    except OSError as error:
        raise InputError(f"{file}: cannot read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{file}: not JSON: {error}") from error
    if not isinstance(content, dict) or content.get("schema_version") != SCHEMA_VERSION:
        raise InputError(f"{file}: not a build.json of version {SCHEMA_VERSION}; build again with sizeguard build")
    try:
        return _build(content)
    except (KeyError, TypeError) as error:
        raise InputError(f"{file}: not a complete build.json ({error}); build again with sizeguard build") from error


def _build(content: Mapping[str, object]) -> Build:
    def text(key: str) -> str:
        value = content[key]
        if not isinstance(value, str):
            raise TypeError(f"{key} is no text")
        return value

    def paths(key: str) -> tuple[Path, ...]:
        value = content[key]
        if not isinstance(value, list):
            raise TypeError(f"{key} is no list")
        return tuple(Path(str(path)) for path in value)

    def optional(key: str) -> Path | None:
        value = content.get(key)
        return Path(str(value)) if value else None

    sizes = content["sizes"]
    if not isinstance(sizes, dict):
        raise TypeError("sizes is no table")
    return Build(
        variant=text("variant"),
        app=text("app"),
        target=text("target"),
        toolchain=text("toolchain"),
        optimize=text("optimize"),
        image=Path(text("image")),
        shipped=Path(text("shipped")),
        map=Path(text("map")),
        gc_log=Path(text("gc_log")),
        objects=paths("objects"),
        selection=Path(text("selection")),
        model_tracer=optional("model_tracer"),
        fingerprint=text("fingerprint"),
        sizes=Sizes(**{name: int(sizes[name]) for name in ("load", "ram", "file", "page_slack")}),
        link=text("link"),
        lto=text("lto"),
        lto_inputs=paths("lto_inputs"),
        debug=optional("debug"),
        link_command=optional("link_command"),
        asked=optional("asked_selection"),
        dtypes=bool(content.get("dtypes", True)),
    )
