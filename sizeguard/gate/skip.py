"""Turns everything that a verdict depends on into a key, and a key into the result of an earlier run that passed.

What passed once with all the same passes again; what did not pass is done again. The key holds contents, not times or places: a store that
was carried to another machine with the same packages answers there, and a change of a document changes nothing.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import asdict, replace
from pathlib import Path

from sizeguard.attribution.store import content_key
from sizeguard.build.fingerprint import sources_hash
from sizeguard.build.machine import processor
from sizeguard.build.programs import cases_beside
from sizeguard.build.recipes import RuntimeRecipe
from sizeguard.build.targets import run_prefix
from sizeguard.build.toolchain import Toolchain, find_toolchain
from sizeguard.errors import BuildError, InputError
from sizeguard.gate.baselines import FOLDER
from sizeguard.gate.config import CONFIG, App, Target
from sizeguard.gate.history import is_input
from sizeguard.gate.keys import code_hash, file_hash
from sizeguard.gate.request import Request
from sizeguard.gate.result import CREEP, Base, GateResult, Waiver
from sizeguard.gate.waiver_use import in_force
from sizeguard.plain_data import decode, encode

# What is installed: headers, libraries and tools that no version says. Without one of these lists nothing is skipped.
_PACKAGES = tuple(map(Path, ("/var/lib/dpkg/status", "/var/lib/rpm/rpmdb.sqlite", "/lib/apk/db/installed")))
_LOADER = (Path("/etc/ld.so.cache"), Path("/etc/ld.so.preload"))
_VARIABLES = (
    *("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "LD_LIBRARY_PATH", "LD_PRELOAD", "CPATH", "LIBRARY_PATH"),
    *("C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "CMAKE_TOOLCHAIN_FILE", "PATH"),
)


def earlier_run(request: Request, base: Base | None, waivers: Sequence[Waiver]) -> tuple[str | None, GateResult | None]:
    """The key of this run, and the result of one that passed with the same inputs.

    Where nothing differs from the base, growth is none; if the base itself passed, counted from its baseline, this does.
    """
    key = inputs_key(request, base, waivers)
    if key is None or request.again:
        return key, None
    found = earlier_result(request, key, base)
    if found is None:
        as_base = inputs_key(request, base, waivers, as_base=True)
        found = earlier_result(request, as_base, base) if as_base not in (None, key) else None
    return key, found


def inputs_key(request: Request, base: Base | None, waivers: Iterable[Waiver], *, as_base: bool = False) -> str | None:
    """None if something cannot be known without doing the work. as_base: of a run on the base itself, if nothing differs from it."""
    packages = [path for path in _PACKAGES if path.is_file()]
    if not packages:
        return None
    try:
        targets = {target.name: target for _, target in request.pairs()}
        tools = {name: find_toolchain(target.compiler, target.linker, target.machine) for name, target in targets.items()}
        pairs = [(app, target, tools[target.name]) for app, target in request.pairs()]
        changed = request.history.changed(base.commit) if base and base.commit and request.history.head else frozenset()
        machine = [*packages, *_LOADER, *(Path(tool) for _, _, toolchain in pairs for tool in (toolchain.cc, toolchain.cxx))]
        return content_key(
            {
                "gate": 1,
                "code": code_hash(),
                "machine": _hashes(None, machine),
                "processor": processor(),
                "variables": {name: os.environ.get(name, "") for name in _VARIABLES},
                "sources": sources_hash(request.root),
                "files": _hashes(request.root, _files(request)),
                "pairs": [[app.name, _plain(target), _plain(toolchain), _emulator(target)] for app, target, toolchain in pairs],
                "base": [_base(request, base, changed, app, toolchain, as_base) for app, _, toolchain in pairs],
                "creep": [_creep(request, app, toolchain) for app, _, toolchain in pairs],
                "waivers": [_plain(waiver) for waiver in in_force(waivers, request.today)],
            }
        )
    except (BuildError, InputError):
        return None  # the work itself says what is wrong


def _plain(value: Target | Toolchain | Waiver) -> Mapping[str, str]:
    return {name: str(each) for name, each in asdict(value).items()}


def _hashes(root: Path | None, paths: Iterable[Path]) -> Mapping[str, str]:
    """Hashes by path; from the root if there is one."""
    shown = {path: path.relative_to(root).as_posix() if root and path.is_relative_to(root) else str(path) for path in paths}
    return {shown[path]: file_hash(path) for path in sorted(shown) if path.is_file()}


def _files(request: Request) -> Iterable[Path]:
    """What people write besides sources: policy, baselines, waivers, selections with what lies beside them, models with their inputs."""
    yield request.root / CONFIG
    yield from (request.root / FOLDER).rglob("*.yaml")  # reviewed sizes, waivers, what selections were traced with
    for app in {app.name: app for app, _ in request.pairs()}.values():
        yield from (path for path in app.selection.parent.rglob("*") if path.is_file())
        for model in app.models:
            yield model
            yield from (path for case in cases_beside(model) for path in case)


def _emulator(target: Target) -> str:
    prefix = run_prefix(target.machine) if target.run else None
    found = _which(prefix[0]) if prefix else None
    return file_hash(found) if found else ""


def _which(name: str) -> Path | None:
    import shutil

    found = shutil.which(name)
    return Path(found) if found else None


def _base(request: Request, base: Base | None, differs: Set[str], app: App, toolchain: Toolchain, as_base: bool) -> list[str]:
    """What growth is counted from: what the base reads, and which of that differs here."""
    history = request.history
    if base is None or not base.commit or history.head is None:
        return []
    selection = app.selection.relative_to(request.root).as_posix()
    changed = sorted(path for path in differs if is_input(path, selection) or path.startswith(f"{FOLDER}/"))
    texts = [hashlib.sha256(history.text_at(base.commit, path) or b"").hexdigest() for path in changed]
    key = history.key(base.commit, RuntimeRecipe(toolchain, app.name))
    return [key, str(not changed and (as_base or history.head.id == base.commit)), *changed, *texts]


def _creep(request: Request, app: App, toolchain: Toolchain) -> Mapping[str, str]:
    since = {limit.since for limit in request.config.limits if limit.kind == CREEP}
    if request.history.head is None:
        return dict.fromkeys(since, "")
    return {name: request.history.key(request.history.commit(name).id, RuntimeRecipe(toolchain, app.name)) for name in since}


def earlier_result(request: Request, key: str | None, base: Base | None) -> GateResult | None:
    """The result of a run that passed with the same inputs, as of now."""
    facts = request.history.place.store.facts(key) if key is not None else None
    if facts is None:
        return None
    try:
        found = decode(GateResult, facts.get("gate"), "the store")
    except InputError:
        return None  # of another version, or damaged: the work is done again
    if found.exit_code != 0:
        return None
    head = request.history.head
    apps = tuple(replace(app, unchanged=True) for app in found.apps)
    why = "all that the verdict depends on is as it was when it passed"
    return replace(found, apps=apps, base=base, head=head.id if head else "", skipped=why)


def keep_result(request: Request, key: str | None, result: GateResult) -> None:
    if key is not None and result.exit_code == 0 and not result.skipped:
        request.history.place.store.put(key, {"gate": encode(result)})
