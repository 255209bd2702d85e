"""Draw names of libtorch_cpu.so that have an operator, with labels to be judged by hand.

    python -m tests.soak.images.draw_labels path/to/libtorch_cpu.so --seed 6 \\
        > tests/data/attribution/libtorch_cpu_6.yaml

Read each label of the file and correct the wrong ones: it is then a test
(tests/names/test_attribution_names.py), which counts how many the preset gets wrong. --demangle
prints demangled names.
"""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

from sizeguard.columns.texts import Texts
from sizeguard.formats.elf import read_elf
from sizeguard.names.labels import label_names
from sizeguard.runtimes.known import runtime_named
from tests.support.script import options_of

STT_FUNC = 2
LEVELS = ("operator", "dtype", "component")


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--demangle", action="store_true")
    options = parser.parse_args()
    names = sorted(
        {
            symbol.name
            for symbol in read_elf(options.library).symbols
            if symbol.type == STT_FUNC and symbol.section and symbol.size
        }
    )
    found = label_names(Texts.of(names), runtime_named("aten").rules)
    attributed = [
        i
        for i, operator in enumerate(found.operator.ids.tolist())
        if found.operator.texts[operator]
    ]
    drawn = random.Random(options.seed).sample(attributed, options.count)
    labels = [
        {level: (label := getattr(found, level)).texts[label.ids[i]] for level in LEVELS}
        for i in drawn
    ]
    shown = [names[i] for i in drawn]
    if options.demangle:
        command = ["c++filt"]
        shown = subprocess.run(
            command, input="\n".join(shown), check=True, capture_output=True, text=True
        ).stdout.splitlines()
    print(
        f"# {options.count} attributed functions of {options.library.name}, drawn with seed"
        f" {options.seed}; of {len(attributed):,}."
    )
    for name, row in zip(shown, labels, strict=True):
        print(
            f"- {{name: {name}, operator: '{row['operator']}', dtype: '{row['dtype']}', component:"
            f" {row['component'] or repr('')}}}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
