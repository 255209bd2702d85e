"""Measure the gate of many apps of the runtime in native/, with builds and measurements at hand.

In a copy of the source tree that is a repository of its own. Each app runs one small model, and
also selects three operators, drawn with a fixed seed, with everything that they call. Exit code 1
beyond a limit, or if the gate says anything but that it passes.

Processor seconds of a warm run on three targets: 8.5 for 100 apps. The first run makes all builds,
20 s of processor time each.
"""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from sizeguard.runtimes.sizeguard.native_sources import NativeSources
from sizeguard.runtimes.sizeguard.native_tree import FOLDER, op_deps
from sizeguard.selection.op_deps import OpDeps
from sizeguard.selection.reachable_needs import with_callees
from sizeguard.selection.selection import SelectedOperator, Selection
from sizeguard.selection.write import write_selection
from tests.support.places import ROOT, SIZEGUARD
from tests.support.results.gate_steps import Step, commit, gate, print_steps, run
from tests.support.script import options_of

TARGETS = {
    "x86_64-linux": "{}",
    "aarch64-linux": "{run: false}",
    "arm64-macos": "{run: false}",
}
OPERATORS = 3  # that an app names
SEED = 17
POLICY = """\
growth:
  load: max(1%, 512B)
  ram: max(1%, 512B)
limits:
  operator/aten::*: {growth: "max(10%, 512B)"}
"""
MODEL = "native/models/mlp/model.pt2"
# Processor seconds of a warm run: what all apps share, and each app and target. 100 apps for three
# targets may take 10 s.
SHARED, EACH = 1.0, 0.03


def drawn(deps: OpDeps, dtypes: Mapping[str, Sequence[str]], draw: random.Random) -> Selection:
    """Select a few operators, with everything that they call.

    For floats; kernels that serve none are selected for all their dtypes, since two kernels without
    any code are one for gcc.

    dtypes: of each kernel tag
    """
    names = draw.sample(sorted(deps.calls), OPERATORS)
    entry = SelectedOperator(
        is_root_operator=True,
        is_used_for_training=False,
        include_all_overloads=False,
        debug_info=frozenset(),
    )
    asked = with_callees(Selection(dict.fromkeys(names, entry)), deps).selection
    tags = frozenset().union(*(deps.tags.get(name, frozenset()) for name in asked.operators))
    chosen = {tag: frozenset({"Float"}.intersection(dtypes[tag]) or dtypes[tag]) for tag in tags}
    return Selection(asked.operators, kernel_metadata=chosen)


def make_tree(tree: Path, apps: int, targets: list[str]) -> None:
    """Make a repository: the sources, their reviewed sizes, and a document on a branch."""
    shutil.copytree(ROOT / FOLDER, tree / FOLDER, dirs_exist_ok=True)
    deps = op_deps(ROOT)
    if deps is None:
        raise SystemExit("error: native/ has no op_deps.yaml")
    draw = random.Random(SEED)
    dtypes = NativeSources(ROOT, ROOT).names().dtypes
    config = [
        "targets:\n",
        *(f"  {name}: {TARGETS[name]}\n" for name in targets),
        POLICY,
        "apps:\n",
    ]
    for number in range(apps):
        path = f"apps/app{number:03}/selected_operators.yaml"
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        write_selection(tree / path, drawn(deps, dtypes, draw))
        config.append(f"  app{number:03}:\n    selection: {path}\n    models: [{MODEL}]\n")
    (tree / "sizeguard.yaml").write_text("".join(config))
    (tree / ".gitignore").write_text("build/\n.sizeguard/\n")
    run(tree, "git", "init", "-q", "-b", "main")
    run(tree, SIZEGUARD, "select", "update")
    commit(tree, "Add the apps")
    run(tree, SIZEGUARD, "baseline", "update")
    commit(tree, "Review the sizes")
    run(tree, "git", "checkout", "-q", "-b", "change")
    (tree / "README.md").write_text("A document.\n")
    commit(tree, "Add a document")


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--apps", type=int, default=20)
    parser.add_argument("--target", action="append", choices=TARGETS)
    parser.add_argument(
        "--tree",
        type=Path,
        default=ROOT / "build" / "bench" / "many_apps",
        help="Where the copy is made; builds in it are used again.",
    )
    options = parser.parse_args()
    tree, targets = options.tree.resolve(), options.target or [*TARGETS]
    tree.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(tree / ".git", ignore_errors=True)
    make_tree(tree, options.apps, targets)
    pairs = options.apps * len(targets)
    steps = [Step("first run", None, gate(tree))]
    steps.append(Step("all again, warm", SHARED + EACH * pairs, gate(tree, "--again")))
    steps.append(Step("nothing changed", None, gate(tree)))
    print(f"{options.apps} apps, {len(targets)} targets")
    return print_steps(steps, pairs)


if __name__ == "__main__":
    sys.exit(main())
