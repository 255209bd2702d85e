"""Every wrong command line gives one line that names the mistake, its place and the fix."""

from __future__ import annotations

import os
import shlex
import shutil
import zipfile
from pathlib import Path

import pytest

from sizeguard.base.errors import OutputError
from sizeguard.cli.error_lines import print_error
from sizeguard.cli.lazy_group import LEAST_WIDTH, MOST_WIDTH, terminal_width
from sizeguard.cli.main import _run
from tests.support.builds.recorded_builds import RECORDED, recorded_images, recorded_runtime
from tests.support.commands.wrong_invocations import ALL, Wrong
from tests.support.commands.wrong_later import LATER
from tests.support.commands.wrong_more import CONFIGS, MORE, WAIVERS
from tests.support.histories.git_runs import git
from tests.support.places import DATA

pytestmark = pytest.mark.native

CONFIG = """targets:
  x86_64-linux:
apps:
  vision:
    selection: mlp.yaml
    models: [model.pt2]
  language:
    selection: mlp.yaml
    models: [model.pt2]
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two apps, a recorded build, an image, a model and files of other kinds."""
    root = recorded_runtime(tmp_path_factory.mktemp("wrong")).root
    image = (root / "build/mlp/run_program").read_bytes()
    (root / "app").write_bytes(image)
    (root / "app.snapshot").write_bytes((RECORDED / "mlp.snapshot").read_bytes())
    (root / "notes.txt").write_text("Notes of somebody.\n")
    (root / "half").write_bytes(image[:100])
    (root / "list.yaml").write_text("- aten::relu\n")
    (root / "dangling").symlink_to("gone")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "fifo")
    (root / "empty").touch()
    (root / "nothing").mkdir()
    (root / "nothing/notes.txt").write_text("More notes.\n")
    (root / "sizeguard.yaml").write_text(CONFIG)
    model = next(iter(sorted((DATA / "exported_models").rglob("*.pt2"))))
    (root / "model.pt2").write_bytes(model.read_bytes())
    (root / "program.sgp").write_bytes(b"\x00\x00\x00\x00SGP1" + bytes(64))
    with zipfile.ZipFile(root / "bundle.zip", "w") as archive:
        archive.writestr("lib.so", image)
    _add_other_files(root, image, model)
    git(root, "init", "-q", "-b", "main")
    for words in (["add", "sizeguard.yaml"], ["commit", "-qm", "Start"]):
        git(root, *words)
    return root


def _add_other_files(root: Path, image: bytes, model: Path) -> None:
    """Add images of other machines, packages, results and damaged files."""
    images = recorded_images(root / "images")
    kept = {"mac": "app-arm64", "fat": "fat", "one.dll": "x86_64.dll", "a.wasm": "a.wasm"}
    for name, of in kept.items():
        (root / name).write_bytes((images / of).read_bytes())
    shutil.rmtree(root / "images")
    (root / "cut.pt2").write_bytes(model.read_bytes()[:700])
    (root / "caf\udce9").write_text("A text whose name is not UTF-8.\n")
    packages = {
        "two.zip": {"lib/arm64/liba.so": image, "lib/x86/liba.so": image},
        "no.whl": {"a/__init__.py": b""},
        "none.zip": {},
    }
    for name, members in packages.items():
        with zipfile.ZipFile(root / name, "w") as archive:
            for member, content in members.items():
                archive.writestr(member, content)
    (root / "half.zip").write_bytes((root / "two.zip").read_bytes()[:5000])
    (root / "gate.json").write_bytes((DATA / "gate/passing.json").read_bytes())
    (root / "report.json").write_text('{"schema_version": 1, "image": {}, "rows": []}\n')


def test_there_are_more_than_eighty() -> None:
    lines = [*ALL, *MORE, *LATER]
    assert len({wrong.line for wrong in lines}) == len(lines) >= 80


@pytest.mark.parametrize("wrong", [*ALL, *MORE, *LATER], ids=lambda wrong: wrong.line)
def test_the_error_says_what_where_and_what_to_type(
    wrong: Wrong, project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    _check(wrong, shlex.split(wrong.line), project, monkeypatch, capfd)


@pytest.mark.parametrize("wrong", CONFIGS, ids=lambda wrong: wrong.line)
def test_an_error_of_the_configuration_has_its_line(
    wrong: Wrong, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sizeguard.yaml").write_text(wrong.line)
    _check(wrong, ["gate"], tmp_path, monkeypatch, capfd)


@pytest.mark.parametrize("wrong", WAIVERS, ids=lambda wrong: wrong.line)
def test_an_error_of_the_waivers_has_its_line(
    wrong: Wrong, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sizeguard.yaml").write_text("apps:\n  parse:\n    image: app\n")
    (tmp_path / "baselines").mkdir()
    (tmp_path / "baselines/waivers.yaml").write_text(wrong.line)
    _check(wrong, ["waivers"], tmp_path, monkeypatch, capfd)


def _check(
    wrong: Wrong,
    words: list[str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Run a command line, and check that it prints only one line of error with all words."""
    monkeypatch.chdir(folder)
    try:
        code = _run(words)
    except BaseException as error:
        code = print_error(error)
    ended = capfd.readouterr()
    assert ended.out == ""
    line = ended.err
    assert line.startswith("error: ") and line.count("\n") == 1, line
    for word in (wrong.wrong, *wrong.right):
        assert word.lower() in line.lower(), f"{line}lacks: {word}"
    assert code == wrong.code, line


def test_a_dash_is_standard_output(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    printed = []
    for more in ([], ["--output", "-"]):
        assert _run(["report", "app", "--by", "section", "--format", "csv", *more]) == 0
        printed.append(capfd.readouterr().out)
    assert printed[0] == printed[1] != ""
    assert not (project / "-").exists()


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("report app --output app", "--output"),
        ("report app --save link", "--save"),
        ("diff app app.snapshot --output ./app.snapshot", "--output"),
        ("verify build/mlp --selection mlp.yaml --output mlp.yaml", "--output"),
        ("import model.pt2 -o model.pt2", "--output"),
        ("select ops model.pt2 -o model.pt2", "--output"),
        ("gate --from-json gate.json --also markdown=gate.json", "--also"),
    ],
)
def test_a_result_never_replaces_an_input(
    line: str,
    option: str,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(project)
    link = project / "link"
    link.unlink(missing_ok=True)
    link.symlink_to("app")
    before = {
        path: path.read_bytes() for path in project.iterdir() if path.suffix and path.is_file()
    }
    before[project / "app"] = (project / "app").read_bytes()
    with pytest.raises(OutputError, match=f"^{option}: .* is an input of this command") as raised:
        _run(shlex.split(line))
    assert raised.value.exit_code == 2
    assert capfd.readouterr().out == ""
    for path, content in before.items():
        assert path.read_bytes() == content, path


def test_merged_selections_may_replace_one_of_them(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    (project / "mine.yaml").write_bytes((project / "mlp.yaml").read_bytes())
    assert _run(shlex.split("select merge mine.yaml mlp.yaml -o mine.yaml")) == 0
    assert "aten::addmm" in (project / "mine.yaml").read_text()
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("columns", ["99999999999999999999999", "-3", "x", "0"])
def test_any_width_of_the_terminal_is_usable(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert LEAST_WIDTH <= terminal_width() <= MOST_WIDTH
