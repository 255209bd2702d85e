"""Archives, packages, folders and universal binaries: a row for each image, and exact sums."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.base.errors import InputError
from sizeguard.builds.measured_sizes import measure
from sizeguard.diff.compare import diff_of
from tests.support.histories.gate_history import SIZEGUARD
from tests.support.tools import tool

pytestmark = pytest.mark.native


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make two objects, their libraries, two objects for macOS, and their universal binary."""
    place = tmp_path_factory.mktemp("members")
    (place / "a.c").write_text("int a(int x) { return x * 3; }\nint kept[40] = {1};\n")
    (place / "b.c").write_text(
        "int a(int x) { return x * 3; }\nint more(int x) { return x / 7; }\n"
    )
    for name in ("a", "b"):
        tool("gcc", "-Os", "-fPIC", "-c", place / f"{name}.c", "-o", place / f"{name}.o")
        tool("gcc", "-shared", "-nostdlib", place / f"{name}.o", "-o", place / f"lib{name}.so")
    for arch in ("arm64", "x86_64"):
        target = ("-target", f"{arch}-apple-macos13")
        tool("clang-19", *target, "-c", place / "a.c", "-o", place / f"{arch}.o")
    tool("llvm-lipo-19", "-create", place / "arm64.o", place / "x86_64.o", "-output", place / "fat")
    return place


def packed(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def images(path: Path) -> dict[str, tuple[int, int]]:
    """Return file and load of each image; check that all rows sum to the container."""
    analysis = analysis_of(path)
    for name in ("file", "load", "ram"):
        assert int(getattr(analysis, name).sum()) == getattr(analysis.image, name)
    label = analysis.label("image")
    found: dict[str, tuple[int, int]] = {}
    for row, text in enumerate(label.ids.tolist()):
        file, load = found.get(label.texts[text], (0, 0))
        found[label.texts[text]] = (
            file + int(analysis.file[row]),
            load + int(analysis.load[row]),
        )
    for level in ("operator", "dtype", "section", "symbol", "object", "kind", "archive"):
        assert len(analysis.label(level).ids) == len(label.ids)
    return found


def test_each_member_of_a_package_is_an_image(folder: Path, tmp_path: Path) -> None:
    library = (folder / "liba.so").read_bytes()
    inner = packed(tmp_path / "inner.jar", {"x.so": library}).read_bytes()
    path = packed(
        tmp_path / "app.aar",
        {
            "jni/arm64-v8a/liba.so": library,
            "fat.dylib": (folder / "fat").read_bytes(),
            "inner.jar": inner,
            "readme.txt": b"words" * 100,
        },
    )
    found = images(path)
    load = measure(folder / "liba.so").load
    assert found["jni/arm64-v8a/liba.so"][1] == load == found["inner.jar!x.so"][1]
    assert found["fat.dylib!arm64"][1] == measure(folder / "arm64.o").load
    assert sum(file for file, _ in found.values()) == path.stat().st_size
    assert found["(other files)"][0] and found["(headers, alignment)"][0]
    for member, file in (
        ("jni/arm64-v8a/liba.so", "liba.so"),
        ("inner.jar!x.so", "liba.so"),
        ("fat.dylib!x86_64", "x86_64.o"),
    ):
        alone, image = analysis_of(Path(f"{path}!{member}")), analysis_of(folder / file)
        assert alone.image.load == image.image.load and alone.image.file == image.image.file
        assert measure(Path(f"{path}!{member}")) == measure(folder / file)


def test_slices_of_a_universal_file_may_be_static_libraries(folder: Path, tmp_path: Path) -> None:
    """As in frameworks for iOS, which were said to contain no image."""
    parts = []
    for arch in ("arm64", "x86_64"):
        parts.append(tmp_path / f"{arch}.a")
        tool("llvm-ar-19", "rc", parts[-1], folder / f"{arch}.o")
    path = tmp_path / "lib.a"
    tool("llvm-lipo-19", "-create", *parts, "-output", path)
    slices = images(folder / "fat")
    assert {name: load for name, (_, load) in images(path).items() if load} == {
        f"{arch}!{arch}.o": slices[arch][1] for arch in ("arm64", "x86_64")
    }
    assert analysis_of(Path(f"{path}!arm64")).image.load == slices["arm64"][1]
    with pytest.raises(
        InputError, match=r"of static libraries; name one of them: .*lib\.a!x86_64$"
    ):
        measure(path)


def test_load_of_a_universal_binary_is_that_of_all_images(folder: Path) -> None:
    """As the rows of a report, so that head and base of a gate are measured alike."""
    loads = {arch: measure(folder / f"{arch}.o").load for arch in ("arm64", "x86_64")}
    sizes, info = measure(folder / "fat"), analysis_of(folder / "fat").image
    assert sizes.load == info.load == sum(loads.values())
    assert (sizes.ram, sizes.file) == (info.ram, info.file)
    found = images(folder / "fat")
    assert {arch: found[arch][1] for arch in loads} == loads


def test_archives_also_thin_ones(folder: Path, tmp_path: Path) -> None:
    for name in ("a.o", "b.o"):
        shutil.copy(folder / name, tmp_path / name)
    tool("ar", "rcs", tmp_path / "lib.a", tmp_path / "a.o", tmp_path / "b.o")
    subprocess.run(["ar", "rcsT", "thin.a", "a.o", "b.o"], cwd=tmp_path, check=True)
    loads = {name: measure(folder / name).load for name in ("a.o", "b.o")}
    for name in ("lib.a", "thin.a"):
        found = images(tmp_path / name)
        assert {member: found[member][1] for member in loads} == loads
        analysis = analysis_of(tmp_path / name)
        assert analysis.label("object").texts[0] == "a.o"
        assert analysis.label("archive").texts[0] == name
    (tmp_path / "b.o").unlink()
    with pytest.raises(InputError, match=r"b\.o"):
        analysis_of(tmp_path / "thin.a")


def test_a_thin_archive_of_itself_ends(folder: Path, tmp_path: Path) -> None:
    name = b"self.a/\n"
    table = b"//" + b" " * 46 + f"{len(name):<10}`\n".encode() + name
    member = b"/0:68" + b" " * 43 + f"{10:<10}`\n".encode()
    (tmp_path / "self.a").write_bytes(b"!<thin>\n" + table + member)
    with pytest.raises(InputError):
        analysis_of(tmp_path / "self.a")


def test_folders_and_debian_packages(folder: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "usr/lib").mkdir(parents=True)
    (tree / "DEBIAN").mkdir()
    (tree / "DEBIAN/control").write_text(
        "Package: x\nVersion: 1\nArchitecture: amd64\nMaintainer: x <x@x.org>\nDescription: x\n"
    )
    shutil.copy(folder / "liba.so", tree / "usr/lib")
    (tree / "usr/lib/again.so").symlink_to("liba.so")
    load = measure(folder / "liba.so").load
    found = images(tree)
    assert found["usr/lib/liba.so"][1] == load and "usr/lib/again.so" not in found
    for method in ("xz", "gzip", "zstd", "none"):
        package = tmp_path / f"{method}.deb"
        tool("dpkg-deb", "--root-owner-group", f"-Z{method}", "-b", tree, package)
        found = images(package)
        assert found["usr/lib/liba.so"][1] == load
        assert sum(file for file, _ in found.values()) == package.stat().st_size
        member = Path(f"{package}!usr/lib/liba.so")
        assert measure(member) == measure(folder / "liba.so")


def test_a_diff_goes_into_images(folder: Path, tmp_path: Path) -> None:
    a, b = (
        packed(tmp_path / f"{name}.whl", {"x.so": (folder / f"lib{name}.so").read_bytes()})
        for name in ("a", "b")
    )
    found = diff_of(lambda: analysis_of(a), lambda: analysis_of(b), ("image", "symbol"), (), "load")
    rows = {
        tuple(label.texts[int(label.ids[row])] for label in found.labels): int(delta)
        for row, delta in enumerate(found.new - found.old)
    }
    assert rows["x.so", "more"] > 0 and rows["x.so", "kept"] < -160
    assert sum(rows.values()) == found.new_image.load - found.old_image.load


def test_what_would_fill_the_disk_is_refused(tmp_path: Path) -> None:
    bomb = packed(tmp_path / "bomb.zip", {"x.so": b"\x7fELF" + bytes(120 << 20)})
    with pytest.raises(InputError, match="not unpacked"):
        analysis_of(bomb)


def test_containers_nested_without_end_are_not_entered(folder: Path, tmp_path: Path) -> None:
    content = (folder / "liba.so").read_bytes()
    for depth in range(8):
        content = packed(tmp_path / f"{depth}.zip", {"inner.zip": content}).read_bytes()
    with pytest.raises(InputError, match="none of its 1 files is native code"):
        analysis_of(tmp_path / "7.zip")
    with pytest.raises(InputError, match="deep"):
        analysis_of(Path(str(tmp_path / "7.zip") + "!inner.zip" * 7))


def test_hostile_packages_end_in_one_line(folder: Path, tmp_path: Path) -> None:
    library = (folder / "liba.so").read_bytes()
    good = packed(tmp_path / "good.zip", {"../../up.so": library, "b.so": library})
    assert images(good)["../../up.so"][1] and not (tmp_path.parent.parent / "up.so").exists()
    content = good.read_bytes()
    for cut in (30, len(content) // 2, len(content) - 10):
        (tmp_path / "cut.zip").write_bytes(content[:cut])
        with pytest.raises(InputError, match="cannot read"):
            analysis_of(tmp_path / "cut.zip")
    with pytest.raises(InputError, match=r"no member 'c\.so'; nearest is 'b\.so'"):
        analysis_of(Path(f"{good}!c.so"))
    with pytest.raises(InputError, match="No such file"):
        analysis_of(tmp_path / "none.zip!c.so")
    damaged = packed(tmp_path / "damaged.zip", {"x.so": library[:200], "b.so": library})
    found = images(damaged)
    assert found["x.so"][1] == 0 and found["b.so"][1]
    kinds = analysis_of(damaged).label("kind")
    assert "unattributed" in {kinds.texts[int(i)] for i in kinds.ids}
    with pytest.raises(InputError, match="damaged"):
        measure(damaged)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="it is empty"):
        analysis_of(tmp_path / "empty")


def test_many_damaged_members_are_noted_together(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An import library of Windows has 10,672 members without sections."""
    library = (folder / "liba.so").read_bytes()
    damaged = {f"x{number}.so": library[:200] for number in range(9)}
    analysis_of(packed(tmp_path / "p.zip", {**damaged, "b.so": library}))
    notes = capsys.readouterr().err.splitlines()
    assert len(notes) == 4 and notes[-1].endswith("p.zip: 6 more members")


def test_a_damaged_member_is_noted_by_the_command(folder: Path, tmp_path: Path) -> None:
    library = (folder / "liba.so").read_bytes()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("x.so", library[:200])
        archive.writestr("b.so", library)
    (tmp_path / "p.whl").write_bytes(buffer.getvalue())
    command = [*SIZEGUARD, "report", str(tmp_path / "p.whl"), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.startswith("note: not measured: ") and done.stderr.count("\n") == 1
    rows = {row["image"]: row for row in json.loads(done.stdout)["rows"]}
    assert rows["b.so"]["load"] == measure(folder / "liba.so").load
    done = subprocess.run(
        [*SIZEGUARD, "report", f"{tmp_path / 'p.whl'}!x.so"], capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stderr.count("\n") == 1


def test_a_container_without_a_readable_image_says_why(tmp_path: Path) -> None:
    """As a framework whose libraries are damaged, or an archive for LTO."""
    damaged = packed(tmp_path / "a.zip", {"liba.so": b"\x7fELF" + bytes(80)})
    with pytest.raises(InputError, match="none of its 1 native files can be read"):
        analysis_of(damaged)
    bitcode = packed(tmp_path / "b.zip", {"a.o": b"BC\xc0\xde1234"})
    with pytest.raises(InputError, match="native code; LLVM bitcode has no code size before"):
        analysis_of(bitcode)
