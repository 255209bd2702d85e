"""The layout of native/: the files that builds read, and the places of its parts."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from sizeguard.base.fingerprint import PACKAGE, files_hash, fingerprint
from sizeguard.base.kept.hash_cache import State, state_of
from sizeguard.base.kept.moment import kept_now

if TYPE_CHECKING:
    from sizeguard.selection.foreign.pytorch_names import PytorchNames
    from sizeguard.selection.foreign.translation import Translation
    from sizeguard.selection.op_deps import OpDeps
    from sizeguard.selection.selection import Selection
    from sizeguard.toolchains.targets import TargetMachine

FOLDER = "native"
# Its version goes into the installed CMake package.
VERSION_FILE = "sizeguard/__init__.py"
LIBRARIES = ("operators", "prepacked")  # kernel libraries, in the order of listing
# A wheel contains the operator lists of the runtime of its release, so that models can be read
# without sources. In a checkout, they are in the sources beside the package.
_CARRIED = Path(__file__).parent / "libraries"
OPERATOR_FILES = tuple(
    _CARRIED / f"{library}.yaml"
    if _CARRIED.is_dir()
    else PACKAGE.parent / FOLDER / library / "operators.yaml"
    for library in LIBRARIES
)
# Beside them: the operators that each operator calls, as read from the full build.
OP_DEPS = "op_deps.yaml"
_OP_DEPS_FILE = (_CARRIED if _CARRIED.is_dir() else PACKAGE.parent / FOLDER / "operators") / OP_DEPS
# Beside them: PyTorch's names for the same operators and kernel tags.
PYTORCH_NAMES = "pytorch_names.yaml"
# The names of a full build, as `sizeguard select names` writes them.
NAMES = Path(FOLDER) / "operators" / "names.json"
NAMES_FILE = _CARRIED / NAMES.name if _CARRIED.is_dir() else PACKAGE.parent / NAMES
# Folders that no build of run_program reads; models are its input data.
_NOT_BUILT = ("native/models/", "native/examples/", "native/fuzzing/")
# Documents. If a build reads one, or a file of those folders, its result is not stored for the
# commit: these lists only save builds.
_DOCUMENTS = frozenset({".md"})
_APPS = "native/apps/"
# In a build folder: the configure command, one word per line.
CONFIGURED = "configure.txt"
# Beside the generator's list of outputs: the output that makes ninja run it.
STAMP = "codegen.stamp"
# The command that CMake calls; its imports generate code.
GENERATOR = "sizeguard.cli.build.codegen"


def has_sources(root: Path) -> bool:
    """Return whether a project's folder has the sources of this runtime."""
    native = root / FOLDER
    return (native / "CMakeLists.txt").is_file() and (native / "runtime").is_dir()


def is_source(path: str) -> bool:
    """Return whether a path from the root is part of a commit's measurement key."""
    if not path.startswith(f"{FOLDER}/") or path.startswith(_NOT_BUILT):
        return False
    if PurePosixPath(path).suffix in _DOCUMENTS:
        return False
    return (
        not path.startswith(_APPS) or path.count("/") == 2
    )  # the folders of apps belong to the apps


def source_files(root: Path) -> list[Path]:
    """List the files of native/ that are part of keys, sorted."""
    found = (path for path in (root / FOLDER).rglob("*") if path.is_file())
    return sorted(path for path in found if is_source(path.relative_to(root).as_posix()))


def code_files(root: Path) -> list[Path]:
    """List the C++ files that objects are made of, sorted."""
    return sorted((root / FOLDER).rglob("*.cpp"))


def generator_files(*, models: bool = False) -> tuple[Path, ...]:
    """List the files of this package that generate code from selections, by imports.

    models: also list the files that read selections from model files
    """
    # 1.5 ms, which reading a selection saves.
    from sizeguard.base.import_closure import import_closure
    from sizeguard.runtimes.model_files import READERS

    return import_closure(GENERATOR, *(READERS.values() if models else ()))


def sources_hash(root: Path) -> str:
    """Hash all sources with their paths, and the running generator."""
    return kept_now(("sources", root), lambda: _sources_hash(root))


def _sources_hash(root: Path) -> str:
    generator = files_hash(PACKAGE, generator_files())
    return fingerprint({"sources": files_hash(root, source_files(root)), "generator": generator})


def is_generator(path: str) -> bool:
    """Return whether a file of a repository is code of the running generator.

    The same generator builds the base, so effects of its changes show only against the baseline.
    """
    head, _, inside = path.partition("/")
    return head == PACKAGE.name and PACKAGE / inside in generator_files()


def operator_files(root: Path | None) -> tuple[Path, ...]:
    """List the operator lists of a project; those of this package without a project."""
    if root is None:
        return OPERATOR_FILES
    return tuple(folder / "operators.yaml" for folder in kernel_folders(root))


def op_deps_file(root: Path | None) -> Path:
    """Return the op_deps.yaml of a project; that of this package without a project."""
    return _OP_DEPS_FILE if root is None else root / FOLDER / "operators" / OP_DEPS


def op_deps(root: Path | None) -> OpDeps | None:
    """Read the calls of a project's operators; None if its sources are older than the file."""
    path = op_deps_file(root)
    state = state_of(str(path))
    return None if state is None else _op_deps_of(path, state)


# A gate translates the selection of each app, and parsing takes 20 ms.
@functools.lru_cache(4)
def _op_deps_of(path: Path, state: State) -> OpDeps:
    """Read a file; a changed file has another state, and is read again."""
    from sizeguard.selection.op_deps import read_op_deps

    return read_op_deps(path)


def pytorch_names(root: Path | None) -> PytorchNames:
    """Read PyTorch's names for a project's operators; empty for sources without the file."""
    path = op_deps_file(root).with_name(PYTORCH_NAMES)
    return _pytorch_names_of(path, state_of(str(path)))


@functools.lru_cache(4)
def _pytorch_names_of(path: Path, state: State | None) -> PytorchNames:
    """Read a file; state: of the file, or None if there is none."""
    from sizeguard.selection.foreign.pytorch_names import read_pytorch_names

    return read_pytorch_names([] if state is None else [path])


def translated(root: Path | None, selection: Selection) -> Selection:
    """Translate a selection of PyTorch or ExecuTorch for a project's operators."""
    deps = op_deps(root)
    if deps is None:
        return selection
    from sizeguard.selection.foreign.foreign_names import is_foreign

    if not is_foreign(selection, deps, pytorch_names(root)):
        return selection  # saves an import of 3 ms
    return translation(root, selection).selection


def translation(root: Path | None, selection: Selection) -> Translation:
    """Translate a selection, and list what was left out and added."""
    from sizeguard.selection.foreign.translation import Translation, translated

    deps = op_deps(root)
    return translated(selection, deps, pytorch_names(root)) if deps else Translation(selection)


def names_file(root: Path | None) -> Path:
    """Return the file with the names of a project's full build, else this package's."""
    own = root / NAMES if root is not None else NAMES_FILE
    return own if own.is_file() else NAMES_FILE


def kernel_folders(root: Path) -> tuple[Path, ...]:
    """List the folders of the kernel libraries, whose sources have the dtype switches."""
    return tuple(root / FOLDER / library for library in LIBRARIES)


def built_from(folder: Path) -> Path | None:
    """Return the source folder that a build was configured with; None if it no longer exists."""
    try:
        words = (folder / CONFIGURED).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return None
    native = next((b for a, b in itertools.pairwise(words) if a == "-S"), "")
    root = Path(native).parent
    return root if native and root / FOLDER == Path(native) and has_sources(root) else None


def toolchain_file(root: Path, target: TargetMachine) -> Path | None:
    """Return the file that makes CMake build for a target; None for this machine."""
    folder = root / FOLDER / "cmake" / "toolchains"
    return None if target.is_native else folder / f"{target.name}.cmake"


def usual_selection(app: str) -> str:
    """Return the default path of an app's selection, from the root."""
    return f"{_APPS}{app}/selected_operators.yaml"


def sample_apps(root: Path) -> list[str]:
    """List the apps with a selection beside the sources."""
    return sorted(path.parent.name for path in root.glob(usual_selection("*")))
