"""A small project in C with one app, built by make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.tricks.any_project import AnyProject, Ended, made_project

SOURCES = {
    "main.c": (
        '#include <stdio.h>\nint f(int);\nint main(int c, char** v) {\n  printf("%s %d\\n",'
        " __FILE__, f(c));\n}\n"
    ),
    "lib.c": "int f(int x) {\n  return x * 3;\n}\n",
    "Makefile": (
        "all: app libf.so\napp: main.c lib.c\n\tcc -Os -g $(MORE) main.c lib.c -o app"
        " -Wl,-Map,app.map\nlibf.so: lib.c\n\tcc -Os -fPIC -shared lib.c -o libf.so\n"
        "clean:\n\trm -f app libf.so\n"
    ),
}
GROWN = f"int g(int x) {{\n  volatile int y = x;\n  {'y = y * 3 + 1; ' * 100}\n  return y;\n}}\n"


def config_of(*lines: str, image: str = "image: app") -> str:
    """Return a configuration of one app, `a`, with these lines."""
    return "apps:\n  a:\n" + "".join(f"    {line}\n" for line in (image, *lines))


def project_of(folder: Path, *lines: str, image: str = "image: app") -> AnyProject:
    """Make a project in C with one commit, built by make."""
    return made_project(folder, config_of(*lines, image=image), SOURCES)


def result_of(ended: Ended) -> Any:
    """Return the JSON result of a gate."""
    return json.loads(ended.out)
