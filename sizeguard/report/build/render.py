"""Write a build as text or as JSON."""

from __future__ import annotations

import json

from sizeguard.builds.build_record import Build
from sizeguard.report.writers.printable import plain_text


def build_text(build: Build, format_: str) -> str:
    """Write the build's sizes and files."""
    if format_ == "json":
        return json.dumps(build.to_json(), indent=2)
    sizes = build.sizes
    lines = (
        f"{build.app or build.variant}  {build.target}  {build.toolchain} -O{build.optimize}"
        f"    load {sizes.load:,}   ram {sizes.ram:,}   file {sizes.file:,}",
        f"  image    {build.image}",
        f"  shipped  {build.shipped}",
    )
    return plain_text(lines)
