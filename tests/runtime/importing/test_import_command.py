"""The command `sizeguard import`: what it writes, and what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from sizeguard.base.errors import InputError
from sizeguard.cli.build.import_model import command
from sizeguard.cli.main import _run, main
from sizeguard.runtimes.sizeguard.program.program_file import read_program
from tests.support.builds.sample_models import cases_of
from tests.support.places import ROOT


def test_the_command_writes_the_same_bytes_each_time(tmp_path: Path) -> None:
    path = ROOT / "native" / "models" / "branchy" / "model.pt2"
    cases = [
        argument for files in cases_of(path) for argument in ("--case", ",".join(map(str, files)))
    ]
    for folder in ("a", "b"):
        result = CliRunner().invoke(
            command, [str(path), "-o", str(tmp_path / folder / "branchy.sgp"), *cases]
        )
        said = "8 operators, 12 instructions, 2 bundled cases\n"
        assert (result.exit_code, result.stdout) == (0, "")
        assert result.stderr == f"wrote {tmp_path / folder / 'branchy.sgp'}: {said}"
    written = (tmp_path / "a" / "branchy.sgp").read_bytes()
    assert written == (tmp_path / "b" / "branchy.sgp").read_bytes()
    program = read_program(tmp_path / "a" / "branchy.sgp")
    assert (program.name, len(program.cases)) == ("branchy", 2)


def test_the_command_takes_other_operators(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    operators = tmp_path / "operators.yaml"
    operators.write_text(
        '- {func: "aten::relu(Tensor self) -> Tensor", kernel: relu, kind: core}\n'
    )
    path = ROOT / "native" / "models" / "mlp" / "model.pt2"
    arguments = [
        "sizeguard",
        "import",
        str(path),
        "-o",
        str(tmp_path / "m.sgp"),
        "--operators-yaml",
        str(operators),
    ]
    monkeypatch.setattr("sys.argv", arguments)
    with pytest.raises(SystemExit) as exit_:
        main()
    assert exit_.value.code == 2
    error = capsys.readouterr().err
    assert (
        error.startswith(f"error: {path}: 2 operators are not in this runtime")
        and error.count("\n") == 1
    )
    assert not (tmp_path / "m.sgp").exists()
    monkeypatch.setattr("sys.argv", [*arguments, "--prepack"])
    with pytest.raises(SystemExit):
        main()
    assert "--prepack needs the operator prepacked::linear_clamp_run" in capsys.readouterr().err


def test_the_command_says_what_it_wrote_and_names_other_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = ROOT / "native" / "models" / "mlp" / "model.pt2"
    program = tmp_path / "new" / "mlp.sgp"
    assert _run(["import", str(model), "-o", str(program), "--cases-beside"]) == 0
    said = capsys.readouterr()
    assert said.err == f"wrote {program}: 3 operators, 4 instructions, 2 bundled cases\n"
    assert said.out == "" and program.is_file()
    alone = tmp_path / "model.pt2"
    alone.write_bytes(model.read_bytes())
    with pytest.raises(InputError, match=r"model\.pt2: has no inputs to run: put case0_input0"):
        _run(["import", str(alone), "-o", str(tmp_path / "alone.sgp"), "--cases-beside"])
    assert not (tmp_path / "alone.sgp").exists()
    other = tmp_path / "mlp.pte"
    other.write_bytes(b"\x1c\0\0\0ET12")
    with pytest.raises(InputError, match=r"import takes a \.pt2 file.*select ops lists"):
        _run(["import", str(other), "-o", str(program)])
