"""Turns libtorch_cpu.so into a random draw of names that have an operator, with the preset's labels, to be judged by hand.

    python tests/soak/draw_labels.py path/to/libtorch_cpu.so --seed 6 > tests/data/attribution/libtorch_cpu_6.yaml

The file becomes a test (tests/test_attribution_names.py) when each label has been read and, where it is wrong, written as it should be:
the test then counts how many the preset gets wrong. With --demangle the names are printed as one reads them.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from pathlib import Path

from sizeguard.attribution.labels import label_names
from sizeguard.attribution.preset import load_preset
from sizeguard.formats.elf import read_elf
from sizeguard.formats.texts import Texts

STT_FUNC = 2
LEVELS = ("operator", "dtype", "component")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("library", type=Path)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--demangle", action="store_true")
    options = parser.parse_args()
    names = sorted(
        {symbol.name for symbol in read_elf(options.library).symbols if symbol.type == STT_FUNC and symbol.section and symbol.size}
    )
    found = label_names(Texts.of(names), load_preset("aten"))
    attributed = [i for i, operator in enumerate(found.operator.ids.tolist()) if found.operator.texts[operator]]
    drawn = random.Random(options.seed).sample(attributed, options.count)
    labels = [{level: (label := getattr(found, level)).texts[label.ids[i]] for level in LEVELS} for i in drawn]
    shown = [names[i] for i in drawn]
    if options.demangle:
        command = ["c++filt"]
        shown = subprocess.run(command, input="\n".join(shown), check=True, capture_output=True, text=True).stdout.splitlines()
    print(f"# {options.count} attributed functions of {options.library.name}, drawn with seed {options.seed}; of {len(attributed):,}.")
    for name, row in zip(shown, labels, strict=True):
        print(f"- {{name: {name}, operator: '{row['operator']}', dtype: '{row['dtype']}', component: {row['component'] or repr('')}}}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
