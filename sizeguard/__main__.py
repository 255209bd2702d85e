"""Run the command line: `sizeguard`, or `python -m sizeguard`."""

from __future__ import annotations

from sizeguard.base.tuning import collect_seldom


def main() -> None:
    """Run the command that sys.argv names."""
    collect_seldom()
    # Imported here, because click's import makes 17,000 objects: 25 searches for garbage, 6 ms.
    from sizeguard.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
