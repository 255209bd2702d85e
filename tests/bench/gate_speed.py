"""Measure the gate on 2 apps, 3 targets and all sample models.

From nothing, with builds and store at hand, after a change, unchanged.

In a copy of the source tree that is a repository of its own. Exit code 1 beyond a limit, or if the
gate says anything but that it passes.

Processor seconds of 2 Xeon cores, gcc 12 and clang 19 (wall seconds were of no use on a crowded
machine): nothing changed 1.1, a document 1.0, all again with a warm store 4.3, one kernel changed
31 in all (6 gates of one build each; compiling and linking is most of it), the store lost 54, with
builds at hand 17, from nothing 176. Limits are about twice that.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tests.support.places import ROOT, SIZEGUARD
from tests.support.results.gate_steps import Step, commit, gate, print_steps, run
from tests.support.script import options_of

COPIED = ("native", "sizeguard.yaml", "sizeguard/runtimes/sizeguard/codegen", "sizeguard/selection")

POLICY = """\
targets:
  x86_64-linux:
  aarch64-linux:
  arm64-macos: {run: false}
growth:
  load: max(1%, 512B)
  ram: max(1%, 512B)
limits:
  operator/aten::*: {growth: "max(2%, 128B)"}
  page_slack: 64 KiB
"""
# One more instruction in a kernel that both apps select: all builds change, and everything that
# depends on them is measured again.
KERNEL = Path("native/operators/kernels/softmax.cpp")
HEAD = "Result<Tensor> _softmax(Context& context, Tensor self, int64_t dim, bool half_to_float) {\n"
CHANGE = '  __asm__ volatile("nop");\n'


def make_tree(tree: Path) -> None:
    """Make a tree whose apps run every model.

    One selects the parts that traces used, the other everything that is reachable.
    """
    models = sorted((ROOT / "native" / "models").iterdir())
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name,
                tree / name,
                ignore=shutil.ignore_patterns("__pycache__"),
                dirs_exist_ok=True,
            )
    listed = "".join(f"      - native/models/{model.name}/model.pt2\n" for model in models)
    apps = [
        f"  {app}:\n    selection: native/apps/{app}/selected_operators.yaml\n    models:\n{listed}"
        for app in ("vision", "language")
    ]
    (tree / "sizeguard.yaml").write_text(f"{POLICY}apps:\n{''.join(apps)}")
    (tree / ".gitignore").write_text("build/\n.sizeguard/\n")
    # The copy keeps the file times, so files that the last run changed need newer times than their
    # outputs.
    (tree / KERNEL).touch()
    run(tree, SIZEGUARD, "select", "update", "--app", "vision", "--exact")
    run(tree, SIZEGUARD, "select", "update", "--app", "language", "--static")
    run(tree, SIZEGUARD, "baseline", "update")
    run(tree, "git", "init", "-q", "-b", "main")
    commit(tree, "The tree that is gated")
    print(f"2 apps, 3 targets, {len(models)} models")


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument(
        "--tree",
        type=Path,
        default=ROOT / "build" / "bench" / "gate",
        help="Where the copy is made; builds in it are used again.",
    )
    tree = parser.parse_args().tree.resolve()
    tree.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(tree / ".git", ignore_errors=True)
    make_tree(tree)
    kernel = tree / KERNEL
    steps = [Step("first run, builds there", None, gate(tree))]
    steps.append(Step("all again, warm", 8, gate(tree, "--again")))
    steps.append(Step("nothing changed", 2, gate(tree)))
    (tree / "README.md").write_text("A document.\n")
    steps.append(Step("a document changed", 2, gate(tree)))
    text = kernel.read_text()
    if HEAD not in text:
        parser.error(f"{KERNEL} has no line that begins {HEAD[:40]}")
    kernel.write_text(text.replace(HEAD, HEAD + CHANGE))
    steps.append(Step("a kernel changed, warm", 60, gate(tree)))
    shutil.rmtree(tree / ".sizeguard")
    steps.append(Step("store lost, builds there", None, gate(tree)))
    return print_steps(steps)


if __name__ == "__main__":
    sys.exit(main())
