"""Options and check counts for soak scripts and benchmarks."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field


def options_of(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser that prints the script's docstring as help."""
    return argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )


@dataclass(slots=True)
class Tally:
    """The number of checks and failures."""

    checked: int = 0
    failures: list[str] = field(default_factory=list)

    def check(self, holds: bool, failure: str) -> bool:
        """Count a check, print its failure at once, and return whether it holds."""
        self.checked += 1
        if not holds:
            self.failures.append(failure)
            print(f"FAIL {failure}", flush=True)
        return holds

    def close(self, figures: str = "") -> int:
        """Print the closing line with figures, and return the exit code.

        A script without checks fails, too.
        """
        more = f"; {figures}" if figures else ""
        print(f"{self.checked:,} checked, {len(self.failures):,} failed{more}", flush=True)
        return 1 if self.failures or not self.checked else 0
