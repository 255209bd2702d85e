"""Cargo: the folder target/ with its profiles, and the features of a build."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from sizeguard.base.files import text_of_file
from sizeguard.proposals.build_folder import (
    BUILD_ID,
    DEBUG,
    MAP,
    SECTIONS,
    SYMBOLS,
    BuildFolder,
    Commands,
    LinkedFile,
    Place,
    map_option,
    path_from,
    shell_words,
)

_MANIFEST = "Cargo.toml"
_HIDDEN = (".d", ".rlib", ".rmeta", ".pdb", ".dwp", ".dSYM", ".debug", ".map")
_LIBRARIES = (".so", ".dylib", ".dll", ".a", ".lib")
_PREFERRED = ("release", "debug")  # profiles; others come before them


class Cargo:
    """Cargo, for this machine or with --target."""

    name = "Cargo"
    packages = ("cargo", "rustc", "gcc")

    def recognises(self, folder: Path) -> bool:
        """Return whether a folder is target/ of a package or workspace."""
        return (folder / ".rustc_info.json").is_file()

    def read(self, folder: Path) -> BuildFolder:
        """Read the files of one profile: a custom one, else release, else dev."""
        source = next(
            (each for each in folder.parents if (each / _MANIFEST).is_file()), folder.parent
        )
        profiles = [
            each
            for each in (*folder.iterdir(), *(p for f in folder.iterdir() for p in _inside(f)))
            if (each / ".fingerprint").is_dir()
        ]
        linked = {profile: tuple(_linked(profile)) for profile in profiles}
        made = [profile for profile in profiles if linked[profile]]
        if not made:
            return BuildFolder(source, folder, ())
        best = min(made, key=lambda each: (_rank(each.name), len(each.parts), each.name))
        facts = {
            "profile": best.name,
            "machine": "" if best.parent == folder else best.parent.name,
            "lock": "yes" if (source / "Cargo.lock").is_file() else "",
            "features": json.dumps(_features(best, source)),
        }
        return BuildFolder(source, folder, linked[best], facts)

    def commands(self, build: BuildFolder, place: Place, images: Sequence[LinkedFile]) -> Commands:
        """Build the profile with its features."""
        words = ["cargo", "build", *(["--locked"] if build.fact("lock") else [])]
        if place.source != ".":
            words += ["--manifest-path", f"{place.source}/{_MANIFEST}"]
        if PurePosixPath(place.folder) != PurePosixPath(place.source, "target"):
            words += ["--target-dir", place.folder]
        profile = build.fact("profile")
        if profile == "release":
            words.append("--release")
        elif profile != "debug":
            words += ["--profile", profile]
        if build.fact("machine"):
            words += ["--target", build.fact("machine")]
        if all(image.target for image in images):  # a library is built with its package
            words += [word for image in images for word in ("--bin", image.target)]
        words += json.loads(build.fact("features") or "[]")
        is_dev = profile == "debug"
        notes = (
            ("the build has the profile dev: cargo build --release optimizes",) if is_dev else ()
        )
        return Commands("", shell_words(words, place.root), notes)

    def advice(self, missing: str, build: BuildFolder, image: LinkedFile) -> str:
        """Return the change of Cargo.toml, of build.rs or of rustc's flags."""
        kind = f"bin={image.target}" if image.target else "cdylib"
        # rustc links in the folder of the workspace.
        option = map_option(image, f"{path_from(build.source, image.path)}.map")
        return {
            SECTIONS: "rustc has sections for functions unless -Z function-sections=no",
            # With RUSTFLAGS, each link would overwrite the map of the one before.
            MAP: f'println!("cargo:rustc-link-arg-{kind}=-Wl,{option}"); in build.rs',
            BUILD_ID: 'env: {RUSTFLAGS: "-C link-arg=-Wl,--build-id"} in sizeguard.yaml',
            DEBUG: "[profile.release] debug = 1 in Cargo.toml; the gate strips its own copy",
            SYMBOLS: "[profile.release] strip = false in Cargo.toml; the gate strips its own copy",
        }[missing]


def _inside(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from folder.iterdir()


def _rank(profile: str) -> int:
    return _PREFERRED.index(profile) + 1 if profile in _PREFERRED else 0


def _linked(profile: Path) -> Iterator[LinkedFile]:
    """Yield the programs and libraries at the top of a profile's folder."""
    for path in sorted(profile.iterdir()):
        if not path.is_file() or path.name.startswith(".") or path.suffix in _HIDDEN:
            continue
        is_library = path.suffix in _LIBRARIES
        yield LinkedFile(path, "" if is_library else path.name.removesuffix(".exe"))


def _features(profile: Path, source: Path) -> list[str]:
    """Return the options for the features of the package's newest build."""
    manifest = _toml(source / _MANIFEST)
    package = manifest.get("package")
    if not isinstance(package, dict):
        return []  # in a workspace, features belong to its packages
    declared = manifest.get("features")
    declared = declared if isinstance(declared, dict) else {}
    name = re.escape(str(package.get("name", "")))
    newest: tuple[float, list[str]] | None = None
    for path in (profile / ".fingerprint").glob("*/*.json"):
        if not re.fullmatch(rf"{name}-[0-9a-f]{{16}}", path.parent.name):
            continue
        if not path.name.startswith(("bin-", "lib-")):
            continue
        try:
            found = json.loads(json.loads(text_of_file(path))["features"])
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        changed = path.stat().st_mtime
        if newest is None or changed > newest[0]:
            newest = (changed, [str(each) for each in found])
    if newest is None:
        return []
    had = set(newest[1])
    options = ["--no-default-features"] if "default" in declared and "default" not in had else []
    default = {"default", *declared.get("default", [])} if not options else set()
    more = sorted(had - default)
    return [*options, *(["--features", ",".join(more)] if more else [])]


def _toml(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text_of_file(path))
    except tomllib.TOMLDecodeError:
        return {}
