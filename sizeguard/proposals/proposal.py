"""A proposal for a project: its images, its commands, and missing parts."""

from __future__ import annotations

from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.builds.sizes import Sizes


@dataclass(frozen=True, slots=True)
class ProposedImage:
    """An image of the proposed app.

    name:    in sizeguard.yaml
    image, map, debug, shipped: outputs of the commands, relative to the project's root
    objects: globs
    found:   the existing file; sizes: its sizes
    missing: its missing parts, each with the change that adds it
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
    """The contents of the proposed sizeguard.yaml.

    root:       the project's folder; is_git: whether it is the root of a repository
    system:     the build system's name; packages: Debian packages that a build needs
    folder:     the build folder that was read
    app:        the name of the app; target: its target
    ignore:     globs of build outputs in the checkout that git does not ignore
    selections: files that select operators
    left_out:   images that are not proposed, and why
    notes:      lines for the user
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
