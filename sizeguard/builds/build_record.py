"""Read and write build.json, the record of a build."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, field
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.files import cannot_read, check_no_outputs
from sizeguard.base.input_files import readable
from sizeguard.builds import RECORD as RECORD
from sizeguard.builds.build_inputs import BuildInputs, inputs_from_json
from sizeguard.builds.sizes import Sizes

SCHEMA_VERSION = 1
IMAGE = "image"  # variant name for images of other projects


@dataclass(frozen=True, slots=True)
class Build:
    """A built variant.

    image:       run_program or the shared library, with symbols; also with debug information unless
                 `debug` is given. In another project: the image that its recipe names
    toolchain:   gcc-12.2-bfd-2.40; in another project the compilers that the image names
    optimize:    s or 2; empty in another project, where its commands decide
    shipped:     the stripped twin, which loads the same bytes
    objects:     the linked objects, in order; with LTO, the objects that the linker generated and
                 kept
    map, gc_log: written by the linker; None if another project's build does not name them
    selection:   the effective selection; None for an image of another project
    asked:       the requested selection file; None if everything is kept
    dtypes:      whether the selection's dtypes count, or only its operators
    fingerprint: hash of all inputs
    link:        executable, static, static-pie or shared
    lto:         full or thin; empty without link-time optimization
    lto_inputs:  the linker's original inputs, in order; empty without LTO
    debug:       the .dSYM of a build for macOS, which has the debug information
    link_command: file with the linker's command line, next to the image; None for macOS
    inputs:      everything that the build read; None in records of older versions and other
                 projects
    tools:       full names of the tools that made another project's image, if it names them
    rules:       text of the project's own rules for components; empty without such rules
    """

    variant: str
    app: str
    target: str
    toolchain: str
    optimize: str
    image: Path
    shipped: Path
    map: Path | None
    gc_log: Path | None
    objects: tuple[Path, ...]
    selection: Path | None
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
    inputs: BuildInputs | None = field(default=None, hash=False)
    tools: str = ""
    rules: str = ""

    @property
    def title(self) -> str:
        """One line that describes the build: vision x86_64-linux gcc-12.2-bfd-2.40 -Os."""
        level = f" -O{self.optimize}" if self.optimize else ""
        return f"{self.app or self.variant}  {self.target}  {self.toolchain}{level}"

    def files(self) -> Iterator[Path]:
        """Yield the files of the build that commands read."""
        single = (self.map, self.gc_log, self.selection, self.debug, self.link_command)
        yield from (self.image, self.shipped, *self.objects, *self.lto_inputs)
        yield from (path for path in single if path is not None)

    def to_json(self) -> dict[str, object]:
        """Return the content of build.json."""
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
            "map": str(self.map) if self.map else None,
            "gc_log": str(self.gc_log) if self.gc_log else None,
            "debug": str(self.debug) if self.debug else None,
            "link_command": str(self.link_command) if self.link_command else None,
            "objects": [str(path) for path in self.objects],
            "lto_inputs": [str(path) for path in self.lto_inputs],
            "selection": str(self.selection) if self.selection else None,
            "asked_selection": str(self.asked) if self.asked else None,
            "dtypes": self.dtypes,
            "model_tracer": str(self.model_tracer) if self.model_tracer else None,
            "fingerprint": self.fingerprint,
            "sizes": asdict(self.sizes),
            "inputs": self.inputs.to_json() if self.inputs else None,
            "tools": self.tools,
            **({"rules": self.rules} if self.rules else {}),
        }


def read_build(path: Path) -> Build:
    """Read build.json, or the one in a folder.

    Raises InputError for a file that is not one, is incomplete or has another version, and
    OutputError if the running command will replace a file of the build.
    """
    file = path / RECORD if path.is_dir() else path
    if path.is_dir() and not file.exists():
        raise InputError(
            f"{path}: contains no image that sizeguard built: it has no {RECORD}; name an image"
        )
    try:
        content = json.loads(readable(file).read_text())
    except OSError as error:
        raise cannot_read(file, error) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: not a build: name its folder or its {RECORD}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: not a {RECORD}, because it is not JSON: {error}") from error
    if not isinstance(content, dict) or content.get("schema_version") != SCHEMA_VERSION:
        raise InputError(
            f"{file}: not a build.json of version {SCHEMA_VERSION}; build again with sizeguard"
            " build"
        )
    try:
        build = _build(content)
    except (KeyError, TypeError) as error:
        raise InputError(
            f"{file}: not a complete build.json ({error}); build again with sizeguard build"
        ) from error
    check_no_outputs(build.files())
    return build


class _Content:
    """Typed values of a build.json; raises KeyError or TypeError for missing or mistyped ones."""

    def __init__(self, content: Mapping[str, object]) -> None:
        self.content = content

    def text(self, key: str) -> str:
        """Return a string."""
        value = self.content[key]
        if not isinstance(value, str):
            raise TypeError(f"{key} is not text")
        return value

    def paths(self, key: str) -> tuple[Path, ...]:
        """Return a list of paths."""
        value = self.content[key]
        if not isinstance(value, list):
            raise TypeError(f"{key} is not a list")
        return tuple(Path(str(path)) for path in value)

    def path_or_none(self, key: str) -> Path | None:
        """Return the path of a required key; None if it is null."""
        return Path(self.text(key)) if self.content[key] is not None else None

    def optional(self, key: str) -> Path | None:
        """Return a path; None if it is null, empty or missing."""
        value = self.content.get(key)
        return Path(str(value)) if value else None

    def sizes(self) -> Sizes:
        """Return the four sizes."""
        value = self.content["sizes"]
        if not isinstance(value, dict):
            raise TypeError("sizes is not a table")
        return Sizes(**{name: int(value[name]) for name in ("load", "ram", "file", "page_slack")})


def _build(content: Mapping[str, object]) -> Build:
    """Build the record. Raises KeyError or TypeError for an incomplete one."""
    values = _Content(content)
    return Build(
        sizes=values.sizes(),
        variant=values.text("variant"),
        app=values.text("app"),
        target=values.text("target"),
        toolchain=values.text("toolchain"),
        optimize=values.text("optimize"),
        image=Path(values.text("image")),
        shipped=Path(values.text("shipped")),
        map=values.path_or_none("map"),
        gc_log=values.path_or_none("gc_log"),
        objects=values.paths("objects"),
        selection=values.path_or_none("selection"),
        model_tracer=values.optional("model_tracer"),
        fingerprint=values.text("fingerprint"),
        link=values.text("link"),
        lto=values.text("lto"),
        lto_inputs=values.paths("lto_inputs"),
        debug=values.optional("debug"),
        link_command=values.optional("link_command"),
        asked=values.optional("asked_selection"),
        dtypes=bool(content.get("dtypes", True)),
        inputs=inputs_from_json(content.get("inputs")),
        tools=str(content.get("tools", "")),
        rules=str(content.get("rules", "")),
    )
