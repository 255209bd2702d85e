"""Dtype branches inlined into one function, named by debug information: against rebuilds that leave a branch out."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sizeguard.attribution.sources import analysis_of
from sizeguard.formats.elf import read_elf

RULES = "cases: [run_case]\ndtypes: {Half: Half}\nrules:\n  - {prefix: none_of_these_, component: none}\n"

SOURCE = """
namespace my {
enum class ScalarType { Byte = 0, Char = 1, Short = 2, Int = 3, Long = 4, Float = 6, Double = 7 };
[[noreturn, gnu::cold, gnu::noinline]] void deselected() { __builtin_trap(); }
template <ScalarType dtype, typename T, typename Body>
[[gnu::always_inline]] inline void run_case(const Body& body) { body.template operator()<T>(); }
#define CASE(name, type)                                       \\
  case ScalarType::name:                                       \\
    if constexpr (!KEEP_##name) deselected();                  \\
    else run_case<ScalarType::name, type>(body);               \\
    break;
}
#define KEEP(name) KEEP_##name
using namespace my;
[[gnu::noinline]] void kernel(ScalarType dtype, const void* in, void* out, long n, double scale) {
  const auto body = [&]<typename T>() {
    const T* a = static_cast<const T*>(in);
    T* b = static_cast<T*>(out);
    for (long i = 0; i < n; ++i) b[i] = static_cast<T>(a[i] * a[n - 1 - i] + static_cast<T>(scale));
    for (long i = 1; i < n; ++i) b[i] = static_cast<T>(b[i] + b[i - 1] / static_cast<T>(scale + i));
  };
  switch (dtype) {
    CASE(Byte, unsigned char) CASE(Char, signed char) CASE(Short, short) CASE(Int, int) CASE(Long, long)
    CASE(Float, float) CASE(Double, double)
    default: deselected();
  }
}
int main(int argc, char** argv) {
  kernel(static_cast<ScalarType>(argc), argv[0], argv[argc], argc, argc);
  return 0;
}
"""
DTYPES = ("Byte", "Char", "Short", "Int", "Long", "Float", "Double")


def compiled(folder: Path, compiler: list[str], optimize: str, gone: str) -> Path:
    (folder / "kernel.cpp").write_text(SOURCE)
    output = folder / f"kernel-{gone or 'all'}"
    defines = [f"-DKEEP_{name}={int(name != gone)}" for name in DTYPES]
    command = [
        *compiler,
        "-std=c++20",
        optimize,
        "-g",
        "-fno-asynchronous-unwind-tables",
        *defines,
        "-o",
        str(output),
        str(folder / "kernel.cpp"),
    ]
    subprocess.run(command, check=True)
    return output


def text_size(image: Path) -> int:
    return sum(symbol.size for symbol in read_elf(image).symbols if symbol.name.startswith("_Z6kernel"))


@pytest.mark.parametrize("compiler", [["g++"], ["clang++-19"]], ids=["gcc", "clang"])
@pytest.mark.parametrize("optimize", ["-Os", "-O2"])
def test_named_bytes_leave_with_the_branch(tmp_path: Path, compiler: list[str], optimize: str) -> None:
    """Within 15 % in total: the first case also owns what cases share, so that single ones differ more."""
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES)
    image = compiled(tmp_path, compiler, optimize, "")
    analysis = analysis_of(image, rules=rules)
    dtype, kind, symbol = (analysis.label(level) for level in ("dtype", "kind", "symbol"))
    named = dict.fromkeys(DTYPES, 0)
    for row, load in enumerate(analysis.load.tolist()):
        if kind.texts[kind.ids[row]] == "code" and symbol.texts[symbol.ids[row]].startswith("_Z6kernel"):
            name = dtype.texts[dtype.ids[row]]
            if name in named:
                named[name] += load
    assert int(analysis.load.sum()) == read_elf(image).load
    assert int(analysis.file.sum()) == image.stat().st_size
    whole = text_size(image)
    measured = {name: whole - text_size(compiled(tmp_path, compiler, optimize, name)) for name in DTYPES}
    print(compiler, optimize, named, measured)
    assert abs(sum(named.values()) - sum(measured.values())) <= 0.15 * sum(measured.values())
