"""Run the command line: `python -m sizeguard`."""

from __future__ import annotations

from sizeguard.cli.main import main

if __name__ == "__main__":
    main()
