"""Turns a model into what it names and what a trace of it used, kept by content."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sizeguard.attribution.store import Store, content_key
from sizeguard.build.machine import machine_files, processor
from sizeguard.build.programs import program_of
from sizeguard.build.record import Build
from sizeguard.build.trace import instrumented_build, trace_programs
from sizeguard.gate.keys import code_hash, file_hash, files_key
from sizeguard.model_import.importer import OPERATOR_FILES
from sizeguard.model_import.op_info import OperatorInfo, read_operators
from sizeguard.selection.selection import Selection
from sizeguard.selection.yaml_reader import read_selection
from sizeguard.selection.yaml_writer import format_selection


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
    if store is None:
        return Model(path, program, read_operators(program))
    key = content_key({"kind": "model-operators", "code": code_hash(), "operators": files_key(OPERATOR_FILES), "model": file_hash(program)})
    known = store.facts(key)
    if known is not None:
        operators = {name: frozenset(dtypes) for name, dtypes in known["operators"].items()}
        return Model(path, program, OperatorInfo(program.name, operators, frozenset(known["classes"])))
    info = read_operators(program)
    store.put(key, {"operators": {name: sorted(dtypes) for name, dtypes in info.operators.items()}, "classes": sorted(info.classes)})
    return Model(path, program, info)


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
        with tempfile.TemporaryDirectory() as temporary:
            file = Path(temporary) / "traced.yaml"
            key = self._key(build, model)
            known = self._store.facts(key) if self._store is not None else None
            if known is not None:
                file.write_text(str(known["selection"]), encoding="utf-8")
            else:
                trace_programs(build, [model.program], file, executed_only=False)
            selection = read_selection(file).selection
        if known is None and self._store is not None:
            self._store.put(key, {"selection": format_selection(selection)})
        return selection

    def _key(self, build: Build, model: Model) -> str:
        tracer = build.model_tracer or build.image
        return content_key(
            {
                "kind": "trace",
                "code": code_hash(),
                "tracer": file_hash(tracer),
                "files": files_key(machine_files(tracer, build.target)),
                "processor": processor(),
                "model": file_hash(model.program),
                "name": model.program.name,  # it stands in the selection
            }
        )
