"""Cache the operators that a model names and the selection of its trace, by content."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.fingerprint import code_hash, file_hash, files_key
from sizeguard.builds.build_record import Build
from sizeguard.models.operator_info import OperatorInfo
from sizeguard.runtimes.known import models_of
from sizeguard.selection.read import read_selection
from sizeguard.selection.selection import Selection
from sizeguard.snapshots.kept import kept
from sizeguard.snapshots.store import Facts, Store
from sizeguard.toolchains.host import machine_files, processor


@dataclass(frozen=True, slots=True)
class Model:
    """A model of an app.

    path: as written in the app
    program: the file to run
    """

    path: Path
    program: Path
    info: OperatorInfo

    @property
    def name(self) -> str:
        """The program's name without its suffix."""
        return self.program.stem


def read_model(root: Path, path: Path, store: Store | None, source: Path | None = None) -> Model:
    """Read the operators that a model names.

    source: the folder with the runtime's sources, if that is not the root

    Raises InputError for a model that cannot be read or names operators that the runtime lacks.
    """
    models = models_of(root, source)
    program = models.prepare(path, root / "build" / "programs")
    info = kept(
        store,
        lambda: {
            "kind": "model-operators",
            "code": code_hash(),
            "operators": files_key(models.library_files()),
            "model": file_hash(program),
        },
        lambda: models.operators(program),
        lambda found: {
            "operators": {name: sorted(dtypes) for name, dtypes in found.operators.items()},
            "classes": sorted(found.classes),
        },
        lambda known: _info(program, known),
    )
    return Model(path, program, info)


def _info(program: Path, known: Facts) -> OperatorInfo:
    operators = {name: frozenset(dtypes) for name, dtypes in known["operators"].items()}
    return OperatorInfo(program.name, operators, frozenset(known["classes"]))


class Tracer:
    """Traces models one by one, each content once.

    The instrumented build is made when the first model has to run.
    """

    def __init__(
        self,
        root: Path,
        store: Store | None,
        build: Callable[[Path], Build] | None = None,
        source: Path | None = None,
    ) -> None:
        """Trace models of the project at `root`; `build` makes the instrumented build.

        build: None for the runtime's own instrumented build
        source: the folder with the runtime's sources, if that is not the root
        """
        self.source = source
        self._models = models_of(root, source)
        self.root = root
        self._store = store
        self._make = build or self._models.tracer
        self._build: Build | None = None

    def trace(self, model: Model) -> Selection:
        """Trace the operators that the model names and the code that its inputs use.

        Raises BuildError if the tracer crashes or exceeds its time limit.
        """
        build = self._build = self._build or self._make(self.root)
        text = kept(
            self._store,
            lambda: self._key(build, model),
            lambda: self._traced(build, model),
            lambda found: {"selection": found},
            lambda known: str(known["selection"]),
        )
        with tempfile.TemporaryDirectory() as temporary:
            file = Path(temporary) / "traced.yaml"
            file.write_text(text, encoding="utf-8")
            return read_selection(file).selection

    def _traced(self, build: Build, model: Model) -> str:
        with tempfile.TemporaryDirectory() as temporary:
            file = Path(temporary) / "traced.yaml"
            self._models.trace(build, [model.program], file, executed_only=False)
            return file.read_text(encoding="utf-8")

    def _key(self, build: Build, model: Model) -> Mapping[str, object]:
        tracer = build.model_tracer or build.image
        return {
            "kind": "trace",
            "code": code_hash(),
            "tracer": file_hash(tracer),
            "files": files_key(machine_files(tracer, build.target)),
            "processor": processor(),
            "model": file_hash(model.program),
            "name": model.program.name,  # the selection names the operator
        }
