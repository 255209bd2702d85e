"""Test that no command writes its result over a file that it reads, by whatever name."""

from __future__ import annotations

import builtins
import io
import os
import shlex
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sizeguard.base.errors import InputError, OutputError
from sizeguard.base.files import apart, write_atomic
from sizeguard.base.input_files import readable
from sizeguard.cli.main import _run
from sizeguard.gate.reference.not_measured import unfinished
from sizeguard.report.gate.earlier_results import is_earlier_result
from sizeguard.report.gate.gate_json import read_gate_json
from sizeguard.report.gate.render import gate_text
from sizeguard.report.result_formats import GATE_FORMATS
from sizeguard.report.writers.source_links import links_of_runner
from sizeguard.report.writers.style import Style
from tests.support.builds.recorded_builds import RECORDED, recorded_images, recorded_runtime
from tests.support.histories.git_runs import git
from tests.support.places import DATA

pytestmark = pytest.mark.native

# Command lines with the option of their output, and the least number of files that they read.
LINES = (
    ("report build/mlp --rules rules.yaml --output", 15),
    ("report app --map app.map --linker-script regions.ld --save", 4),
    ("diff build/mlp app.snapshot --output", 15),
    ("doctor build/mlp --output", 2),
    ("why app aten::addmm --objects build/mlp --output", 15),
    ("verify build/mlp --selection mlp.yaml --output", 15),
    ("verify --image app --objects build/mlp --map app.map --absent foo --output", 15),
    ("report two.zip --output", 1),
    ("report images --output", 5),
    ("select ops model.pt2 -o", 1),
    ("import model.pt2 --cases-beside -o", 2),
    ("codegen --root-ops aten::relu --operators-yaml native/operators/operators.yaml --stamp", 1),
)
MOST = 3  # files of one suffix that are tried


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a recorded build; the current folder is its root."""
    root = recorded_runtime(tmp_path).root
    image = (root / "build/mlp/run_program").read_bytes()
    (root / "app").write_bytes(image)
    (root / "app.map").write_bytes((root / "build/mlp/run_program.map").read_bytes())
    (root / "app.snapshot").write_bytes((RECORDED / "mlp.snapshot").read_bytes())
    (root / "regions.ld").write_text("MEMORY { ROM : ORIGIN = 0, LENGTH = 8M }\n")
    (root / "rules.yaml").write_text("rules: []\n")
    with zipfile.ZipFile(root / "two.zip", "w") as archive:
        archive.writestr("lib.so", image)
    recorded_images(root)
    model = DATA / "exported_models" / "all_dtypes"
    (root / "model.pt2").write_bytes((model / "model.pt2").read_bytes())
    for array in model.glob("case*.npy"):
        (root / array.name).write_bytes(array.read_bytes())
    (root / "sizeguard.yaml").write_text("apps:\n  vision:\n    image: app\n")
    monkeypatch.chdir(root)
    return root


def _files(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def _read_by(run: Callable[[], int], root: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """List the files below a folder that a command opens."""
    seen: set[Path] = set()
    real = io.open

    def spy(file: Any, *arguments: Any, **options: Any) -> Any:
        if not isinstance(file, int):
            seen.add(Path(os.path.realpath(file)))
        return real(file, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(io, "open", spy)
        patch.setattr(builtins, "open", spy)
        run()
    return sorted(path for path in seen if path.is_relative_to(root) and path.is_file())


@pytest.mark.parametrize(("line", "least"), LINES)
def test_every_file_that_a_command_reads_is_refused_as_its_output(
    line: str,
    least: int,
    project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    words = shlex.split(line)
    words += ["--output-dir", str(tmp_path / "out"), words.pop()] if words[0] == "codegen" else []
    new = tmp_path / "new"
    read = _read_by(lambda: _run([*words, str(new)]), project, monkeypatch)
    assert new.is_file()
    assert len(read) >= least
    before = _files(project)
    by_suffix: dict[str, list[Path]] = {}
    for path in read:
        by_suffix.setdefault(path.suffix, []).append(path)
    capfd.readouterr()
    for path in [each for paths in by_suffix.values() for each in paths[:MOST]]:
        with pytest.raises(OutputError, match=r"^--") as raised:
            _run([*words, str(path)])
        assert str(raised.value).endswith(f"{path}: is an input of this command; name another file")
        assert raised.value.exit_code == 2
    assert capfd.readouterr() == ("", "")
    assert _files(project) == before


def test_a_link_to_an_input_is_refused(project: Path) -> None:
    objects = project / "build/mlp/CMakeFiles/run_program.dir/apps"
    (project / "hard").hardlink_to(objects / "npy.cpp.o")
    (project / "soft").symlink_to(objects / "npy.cpp.o")
    before = _files(project)
    for name in ("hard", "soft"):
        with pytest.raises(OutputError, match=f"^--output: {name}: is an input"):
            _run(shlex.split(f"why app aten::addmm --objects build/mlp --output {name}"))
    assert _files(project) == before


def test_a_report_in_a_folder_of_inputs_may_be_written_again(project: Path) -> None:
    for line in (
        "report build/mlp --output build/mlp/report.html --format html",
        "why app aten::addmm --objects build/mlp --output build/mlp/why.txt",
        "report images --output images/report.json --format json",
    ):
        for _ in range(2):
            assert _run(shlex.split(line)) == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("report app --save new --output ./new", "^--save: new: --output writes it, too"),
        ("select static model.pt2 -o x --op-deps x", "^--op-deps: x: --output writes it, too"),
        (
            "gate --from-json gate.json --also markdown=a --also html=a",
            "^--also: a: is named twice",
        ),
    ],
)
def test_two_results_need_two_files(line: str, message: str, project: Path) -> None:
    (project / "gate.json").write_bytes((DATA / "gate/passing.json").read_bytes())
    with pytest.raises(OutputError, match=message):
        _run(shlex.split(line))
    assert not (project / "new").exists()


def test_generated_code_never_replaces_its_selection(project: Path) -> None:
    (project / "out").mkdir()
    selection = project / "out" / "selected_operators.yaml"
    selection.write_bytes((project / "mlp.yaml").read_bytes())
    with pytest.raises(OutputError, match=r"^--output-dir: out/sel.*: is an input"):
        _run(
            shlex.split(
                "codegen --selection-only --selection out/../out/selected_operators.yaml"
                " --root-ops aten::relu --output-dir out"
            )
        )
    assert selection.read_bytes() == (project / "mlp.yaml").read_bytes()


@pytest.mark.parametrize("name", ["sizeguard.yaml", "src/new.c", "app"])
def test_the_gate_replaces_only_results_in_a_checkout(
    name: str, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A file that git tracks or could add, and an ignored one that the gate measures."""
    (project / "src").mkdir()
    (project / "src/new.c").write_text("int main(void) { return 0; }\n")
    (project / ".gitignore").write_text("app\n.sizeguard\n")
    for words in (["init", "-q"], ["add", "sizeguard.yaml"], ["commit", "-qm", "Start"]):
        git(project, *words)
    before = (project / name).read_bytes()
    for option in ("--output", "--also"):
        value = name if option == "--output" else f"json={name}"
        for more in ([], ["--in-place"]):
            with pytest.raises(OutputError, match=f"^{option}: .*{name}: is a"):
                _run(["gate", option, value, *more])
        assert (project / name).read_bytes() == before
    assert capfd.readouterr().out == ""


def test_a_gate_that_ends_with_an_error_replaces_no_input(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (project / "sizeguard.yaml").write_text("apps: 5\n")
    image = (project / "app").read_bytes()
    git(project, "init", "-q")
    (project / ".gitignore").write_text("app\nold.json\n")
    (project / "old.json").write_bytes((DATA / "gate/passing.json").read_bytes())
    with pytest.raises(InputError, match="apps"):
        _run(["gate", "--output", "app", "--also", "json=old.json", "--also", "json=new.json"])
    assert (project / "app").read_bytes() == image
    for name in ("old.json", "new.json"):
        assert "apps" in read_gate_json(project / name).problems[0].message


def test_an_old_pass_goes_even_if_another_output_is_refused(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    git(project, "init", "-q")
    old = tmp_path_factory.mktemp("results") / "old.json"
    old.write_text("PASS, and green: of yesterday")
    with pytest.raises(OutputError, match=r"sizeguard\.yaml: is a file of the checkout"):
        _run(["gate", "--also", "json=sizeguard.yaml", "--also", f"json={old}"])
    assert read_gate_json(old).verdict == "inconclusive"


@pytest.mark.parametrize("format_", GATE_FORMATS)
def test_results_of_gates_are_recognized(format_: str, tmp_path: Path) -> None:
    file = tmp_path / "result"
    for result in (unfinished(tmp_path), read_gate_json(DATA / "gate/passing.json")):
        file.write_text(gate_text(result, format_, Style(), links_of_runner()) + "\n")
        assert is_earlier_result(file)


@pytest.mark.parametrize("name", ["gate.py", "gate.json.txt", "a.o", "enum.h", "list.yaml"])
def test_other_files_are_no_results(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(
        {
            "gate.py": b"import sizeguard\n",
            "gate.json.txt": b'{"schema_version": 1, "image": "app", "verdict": "pass"}\n',
            "a.o": b"\x7fELF\0\0PASS  1\n",
            "enum.h": b"enum {\nPASS,\nFAIL = 3,\n};\n",
            "list.yaml": b"- verdict\n",
        }[name]
    )
    assert not is_earlier_result(file)
    assert not is_earlier_result(tmp_path)


def test_nothing_is_written_even_if_a_reader_goes_on(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("a\n")
    with apart([("--output", old)]):
        with pytest.raises(OutputError):
            readable(old)
        for path in (new, old):
            with pytest.raises(OutputError, match=r"^--output: .*old: is an input"):
                write_atomic(path, "b\n")
    write_atomic(new, "b\n")
    assert (old.read_text(), new.read_text()) == ("a\n", "b\n")


def test_a_result_may_be_read_after_it_was_written(tmp_path: Path) -> None:
    """Another file can get the inode of the replaced one."""
    file = tmp_path / "selection"
    file.write_text("a\n")
    with apart([("-o", file)]):
        write_atomic(file, "b\n")
        assert readable(file).read_text() == "b\n"
        for i in range(50):
            (tmp_path / str(i)).touch()
            readable(tmp_path / str(i))
