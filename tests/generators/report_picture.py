"""Draw docs/report.svg: a report in a terminal, exported by rich.

`python -m tests.generators.report_picture IMAGE [ARGUMENT …]` runs `sizeguard report` with them.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys

from rich.console import Console
from rich.text import Text

from tests.support.places import ROOT

WIDTH = 100


def draw(arguments: list[str]) -> str:
    """Return a report in a terminal of WIDTH columns, as SVG."""
    command = [sys.executable, "-m", "sizeguard", "report", *arguments, "--width", str(WIDTH)]
    environment = {
        **os.environ,
        "FORCE_COLOR": "1",
        "COLUMNS": str(WIDTH),
        "TERM": "xterm-256color",
    }
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment, cwd=ROOT
    )
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text(f"$ sizeguard report {' '.join(arguments)}", style="bold"))
    console.print(Text.from_ansi(done.stdout), soft_wrap=False)
    # The picture must not load fonts from another server.
    return re.sub(r"@font-face \{.*?\}\s*", "", console.export_svg(title="sizeguard"), flags=re.S)


if __name__ == "__main__":
    (ROOT / "docs" / "report.svg").write_text(draw(sys.argv[1:]), encoding="utf-8")
