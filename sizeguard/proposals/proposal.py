"""Proposal for a project: its images, its commands, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sizeguard.builds.sizes import Sizes


@dataclass(frozen=True, slots=True)
class ProposedImage:
    """An image of the proposed app.

    name:    in sizeguard.yaml
    image, map, debug, shipped: paths from the project's root, as the commands make them
    objects: globs
    found:   the file that was looked at; sizes: its own
    missing: what it lacks, each with the change that brings it
    """

    name: str
    image: str
    found: Path
    sizes: Sizes
    map: str = ""
    debug: str = ""
    shipped: str = ""
    objects: tuple[str, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """Contents of the proposed sizeguard.yaml.

    root:       the project's folder; is_git: whether it is the root of a repository
    system:     the build system's name; packages: of Debian that building needs
    folder:     the build folder that was looked at
    app:        the name of the app; target: what it is built for
    ignore:     globs of products in the checkout that git does not ignore
    selections: files that select operators
    left_out:   images that are not proposed, and why
    notes:      what the user has to know
    """

    root: Path
    is_git: bool
    system: str
    packages: tuple[str, ...]
    folder: Path
    app: str
    target: str
    setup: str
    build: str
    images: tuple[ProposedImage, ...]
    ignore: tuple[str, ...] = ()
    selections: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
