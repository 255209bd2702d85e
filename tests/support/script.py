"""Options and the count of checks, for soak scripts and benchmarks."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field


def options_of(doc: str | None) -> argparse.ArgumentParser:
    """A parser whose help is the script's docstring as it stands."""
    return argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )


@dataclass(slots=True)
class Tally:
    """Number of checks, and the failures."""

    checked: int = 0
    failures: list[str] = field(default_factory=list)

    def check(self, holds: bool, failure: str) -> bool:
        """Count a check and print its failure at once; whether it holds."""
        self.checked += 1
        if not holds:
            self.failures.append(failure)
            print(f"FAIL {failure}", flush=True)
        return holds

    def close(self, figures: str = "") -> int:
        """Print the closing line, with figures behind it; the exit code.

        A script that checked nothing fails, too.
        """
        more = f"; {figures}" if figures else ""
        print(f"{self.checked:,} checked, {len(self.failures):,} failed{more}", flush=True)
        return 1 if self.failures or not self.checked else 0
