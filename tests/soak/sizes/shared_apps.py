"""Check two apps in one build, with shared and separate kernels, on three targets.

    python -m tests.soak.sizes.shared_apps [--target NAME]…

Each app must hold its selection, and a leak that is planted in one app's glue must fail that app
alone. Then apps × operators: what an app pays for the others on shared kernels, what kernels of
their own cost in bytes and build time, and what one registration library for each operator would.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from sizeguard.builds.build_record import Build
from sizeguard.builds.measured_sizes import measure
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.variants import Variant, default_folder
from sizeguard.toolchains.toolchain import Toolchain, find_toolchain
from tests.support.histories.app_tree import APPS, AppTree
from tests.support.places import ROOT
from tests.support.script import Tally, options_of

TARGETS = ("x86_64-linux", "aarch64-linux", "arm64-macos")
SHOWN = 12
_ENTRY = re.compile(r'^    \{"(?P<name>[^"]+)", .*\},$', re.MULTILINE)


def toolchain_of(target: str) -> Toolchain:
    return find_toolchain("gcc" if target == TARGETS[0] else None, None, target)


def spent() -> float:
    """Return the processor seconds of all processes that this one started, so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def made(tree: AppTree) -> float:
    """Build both apps from nothing, without ccache; the processor seconds."""
    tree.configure()
    subprocess.run(["ninja", "-C", tree.folder, "-t", "clean"], check=True, capture_output=True)
    tree.make("vision_ops_code", "language_ops_code", "sg_schema")
    started = spent()
    tree.make(*APPS, cached=False)
    return spent() - started


def check_tree(tree: AppTree, full: Build, tally: Tally) -> None:
    """Verify both apps, and a leak in the first one's glue."""
    what = f"{full.target} {'shared' if tree.shared else 'own'}"
    for app in APPS:
        found = tree.verified(full, app, tree.folder / app, tree.objects(app))
        tally.check(found == (0, {}), f"{what} {app}: {found}")
    # Debug information of Mach-O is found from the folder of the build.
    with tempfile.TemporaryDirectory(dir=tree.folder) as folder:
        image, leak = tree.leak(APPS[0], Path(folder))
        code, wrong = tree.verified(full, APPS[0], image, tree.objects(APPS[0], leak))
        is_caught = code == 1 and wrong.get("kernel erf") == "fail"
        tally.check(is_caught, f"{what}: the leak in {APPS[0]} ends with {code}: {wrong}")
        other = tree.verified(full, APPS[1], tree.folder / APPS[1], tree.objects(APPS[1]))
        tally.check(other == (0, {}), f"{what}: the leak in {APPS[0]} gives {APPS[1]} {other}")


def bytes_by_operator(tree: AppTree, app: str) -> dict[str, int]:
    """Return the loaded bytes of each operator of an app."""
    image = tree.folder / app
    command = [
        sys.executable, "-m", "sizeguard", "report", image, "--by", "operator", "--format", "json",
        "--map", f"{image}.map", *tree.objects(app),
    ]  # fmt: skip
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    rows = json.loads(done.stdout)["rows"]
    return {row["operator"]: row["load"] for row in rows if "::" in row["operator"]}


def load_of(image: Path) -> int:
    return measure(image).load


def library_per_operator(tree: AppTree, app: str, folder: Path) -> tuple[int, int, float]:
    """Link an app with a registration library for each operator: count, loaded bytes, seconds."""
    sources = sorted((tree.folder / f"{app}_ops" / "code" / "generated").glob("Register*.cpp"))
    compiler, objects = tree.compiler(app), list[Path]()
    started = spent()
    for source in sources:
        text = source.read_text()
        entries = list(_ENTRY.finditer(text))
        for entry in entries:
            single = _ENTRY.sub(lambda match, kept=entry[0]: match[0] * (match[0] == kept), text)
            path = folder / f"{app}_{source.stem}_{len(objects)}.cpp"
            path.write_text(single)
            objects.append(path.with_suffix(".o"))
            command = [*compiler, "-o", str(objects[-1]), "-c", str(path)]
            subprocess.run(command, cwd=tree.folder, check=True, capture_output=True)
    image = folder / app
    tree.link_again(app, image, *objects, without="generated/Register")
    return len(objects), load_of(image), spent() - started


def print_tables(shared: AppTree, own: AppTree, seconds: dict[bool, float]) -> None:
    """Print apps × operators, and the three ways to make libraries."""
    rows = {
        (app, tree.shared): bytes_by_operator(tree, app) for app in APPS for tree in (shared, own)
    }
    names = sorted(
        {name for found in rows.values() for name in found},
        key=lambda name: -sum(found.get(name, 0) for found in rows.values()),
    )
    print(f"\n{'loaded bytes':44}", *(f"{app:>10}{'others':>8}" for app in APPS))
    for name in names[:SHOWN]:
        cells = []
        for app in APPS:
            alone, together = rows[app, False].get(name), rows[app, True].get(name, 0)
            cells.append(f"{alone or 0:>10,}{together - (alone or 0):>+8,}")
        print(f"{name:44}", *cells)
    rest = names[SHOWN:]
    cells = []
    for app in APPS:
        alone, together = (sum(rows[app, s].get(n, 0) for n in rest) for s in (False, True))
        cells.append(f"{alone:>10,}{together - alone:>+8,}")
    print(f"{f'{len(rest)} more operators':44}", *cells)
    print(f"\n{'':40}", *(f"{app:>10}" for app in APPS), f"{'CPU s':>9}")
    for tree, what in ((shared, "shared kernels"), (own, "kernels of its own")):
        sizes = [f"{load_of(tree.folder / app):>10,}" for app in APPS]
        print(f"{what:40}", *sizes, f"{seconds[tree.shared]:>9.1f}")
    with tempfile.TemporaryDirectory() as folder:
        made = [library_per_operator(shared, app, Path(folder)) for app in APPS]
    what = f"one library for each operator ({' and '.join(str(each[0]) for each in made)})"
    sizes = [f"{each[1]:>10,}" for each in made]
    print(f"{what:40}", *sizes, f"{seconds[True] + sum(each[2] for each in made):>9.1f}")


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--target", action="append", choices=TARGETS)
    options = parser.parse_args()
    tally = Tally()
    for target in options.target or TARGETS:
        toolchain = toolchain_of(target)
        whole = Variant("full")
        full = build(ROOT, whole, toolchain, default_folder(ROOT, whole, toolchain))
        seconds, trees = {}, []
        for is_shared in (True, False):
            folder = ROOT / "build" / "shared-apps" / f"{target}-{is_shared}"
            trees.append(AppTree(folder, is_shared, toolchain))
            seconds[is_shared] = made(trees[-1])
            check_tree(trees[-1], full, tally)
        print(f"\n{target}: {toolchain.name}", flush=True)
        print_tables(trees[0], trees[1], seconds)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
