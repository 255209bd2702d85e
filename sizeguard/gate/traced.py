"""Turns a model into what it names and what a trace of it used, kept by content."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sizeguard.attribution.store import Facts, Store
from sizeguard.build.machine import machine_files, processor
from sizeguard.build.programs import program_of
from sizeguard.build.record import Build
from sizeguard.build.trace import instrumented_build, trace_programs
from sizeguard.gate.keys import code_hash, file_hash, files_key, kept
from sizeguard.model_import.importer import OPERATOR_FILES
from sizeguard.model_import.op_info import OperatorInfo, read_operators
from sizeguard.selection.selection import Selection
from sizeguard.selection.yaml_reader import read_selection


@dataclass(frozen=True, slots=True)
class Model:
    """path: as the app names it; program: what runs."""

    path: Path
    program: Path
    info: OperatorInfo

    @property
    def name(self) -> str:
        return self.program.stem


def read_model(root: Path, path: Path, store: Store | None) -> Model:
    """Raises InputError for a model that cannot be read or names operators that the runtime lacks."""
    program = program_of(path, root / "build" / "programs")
    info = kept(
        store,
        lambda: {"kind": "model-operators", "code": code_hash(), "operators": files_key(OPERATOR_FILES), "model": file_hash(program)},
        lambda: read_operators(program),
        lambda found: {"operators": {name: sorted(dtypes) for name, dtypes in found.operators.items()}, "classes": sorted(found.classes)},
        lambda known: _info(program, known),
    )
    return Model(path, program, info)


def _info(program: Path, known: Facts) -> OperatorInfo:
    operators = {name: frozenset(dtypes) for name, dtypes in known["operators"].items()}
    return OperatorInfo(program.name, operators, frozenset(known["classes"]))


class Tracer:
    """Traces models one by one, each once for its content. The instrumented build is made when the first one has to run."""

    def __init__(self, root: Path, store: Store | None, build: Callable[[Path], Build] = instrumented_build) -> None:
        self._root = root
        self._store = store
        self._make = build
        self._build: Build | None = None

    def trace(self, model: Model) -> Selection:
        """What the model names and its inputs use. Raises BuildError if the tracer crashes or never ends."""
        build = self._build = self._build or self._make(self._root)
        text = kept(
            self._store,
            lambda: self._key(build, model),
            lambda: _traced(build, model),
            lambda found: {"selection": found},
            lambda known: str(known["selection"]),
        )
        with tempfile.TemporaryDirectory() as temporary:
            file = Path(temporary) / "traced.yaml"
            file.write_text(text, encoding="utf-8")
            return read_selection(file).selection

    def _key(self, build: Build, model: Model) -> Mapping[str, object]:
        tracer = build.model_tracer or build.image
        return {
            "kind": "trace",
            "code": code_hash(),
            "tracer": file_hash(tracer),
            "files": files_key(machine_files(tracer, build.target)),
            "processor": processor(),
            "model": file_hash(model.program),
            "name": model.program.name,  # it stands in the selection
        }


def _traced(build: Build, model: Model) -> str:
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / "traced.yaml"
        trace_programs(build, [model.program], file, executed_only=False)
        return file.read_text(encoding="utf-8")
