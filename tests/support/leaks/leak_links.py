"""Leaks by the link: files that the record lacks, and options that keep unneeded code."""

from __future__ import annotations

from pathlib import Path

from tests.support.leaks.leak_bench import LeakBench, LinkedWith, run
from tests.support.leaks.leak_bytes import NAMED, blob
from tests.support.leaks.leak_kinds import ELF, GATHER, Leak, elsewhere, unpacked_kernels


def _kernel(bench: LeakBench, name: str) -> Path:
    """Make an object with a kernel under another name that main() refers to."""
    text = elsewhere("Result<Tensor> spare(")
    return bench.compile(name, text + "LEAK(keep(&sg::elsewhere::spare))")


def _unrecorded(bench: LeakBench) -> LinkedWith:
    return LinkedWith((), (str(_kernel(bench, "unrecorded")),))


def _unrecorded_other_code(bench: LeakBench) -> LinkedWith:
    """Link an unrecorded object without kernel code."""
    text = "int total(int n) { int s = 0; while (n-- > 0) s += n * n; return s; }\n"
    return LinkedWith(
        (), (str(bench.compile("stranger", text + "LEAK(argv[total(argc)] = nullptr)")),)
    )


def _library(bench: LeakBench) -> LinkedWith:
    """Link an archive that -l finds in a folder."""
    made = _kernel(bench, "in_library")
    folder = bench.folder / "lib"
    folder.mkdir(exist_ok=True)
    archive = folder / "libhelper.a"
    archive.unlink(missing_ok=True)
    form = ["--format=darwin"] if bench.is_macho else []
    # Only gcc's plugin reads the symbols of its LTO objects.
    tool = "gcc-ar" if bench.build.lto and bench.build.toolchain.startswith("gcc") else "llvm-ar-19"
    run(tool, *form, "rcs", archive, made)
    return LinkedWith((), (f"-L{folder}", "-lhelper"))


def _input_of_script(bench: LeakBench) -> LinkedWith:
    script = bench.folder / "input.ld"
    made = _kernel(bench, "of_script")
    script.write_text(f"INPUT({made})\n")
    return LinkedWith((), (str(script),))


def _response_file(bench: LeakBench) -> LinkedWith:
    made = _kernel(bench, "in_response")
    path = bench.folder / "more.txt"
    path.write_text(f"{made}\n")
    return LinkedWith((), (f"@{path}",))


def _exported(bench: LeakBench) -> LinkedWith:
    text = elsewhere()
    shown = '[[gnu::visibility("default")]] Result<Tensor> spare('
    text = text.replace("Result<Tensor> gather(", shown)
    made = bench.compile("exported", text + "LEAK()")
    return LinkedWith((made,), ("-Wl,-export_dynamic" if bench.is_macho else "-rdynamic",))


def _kept_by_script(bench: LeakBench) -> LinkedWith:
    made = blob("kept", '.mine,"a"', "", "LEAK()")(bench)
    script = bench.folder / "keep.ld"
    script.write_text("SECTIONS { .mine : { KEEP(*(.mine)) } } INSERT AFTER .rodata;\n")
    return LinkedWith(made.recorded, (f"-Wl,-T,{script}",))


def _undefined(bench: LeakBench) -> LinkedWith:
    text = elsewhere("Result<Tensor> spare(")
    text += 'extern "C" void wanted() { keep(&sg::elsewhere::spare); }\nLEAK()'
    name = "_wanted" if bench.is_macho else "wanted"
    return LinkedWith((bench.compile("undefined", text),), (f"-Wl,-u,{name}",))


def _alias(bench: LeakBench) -> LinkedWith:
    text = elsewhere("Result<Tensor> spare(")
    text += 'extern "C" void other(); extern "C" void other() __attribute__((alias("SPARE")));\n'
    name = "_ZN2sg9elsewhere5spareERNS_7ContextENS_6TensorElS3_b"
    text = text.replace("SPARE", name) + "LEAK(keep(&other))"
    return LinkedWith((bench.compile("alias", text),))


def _ifunc(bench: LeakBench) -> LinkedWith:
    text = elsewhere("Result<Tensor> spare(")
    text += 'extern "C" void* choose() { return (void*)&sg::elsewhere::spare; }\n'
    text += 'extern "C" void chosen() __attribute__((ifunc("choose")));\nLEAK(chosen())'
    return LinkedWith((bench.compile("ifunc", text),))


def _constructor(bench: LeakBench) -> LinkedWith:
    text = elsewhere("Result<Tensor> spare(")
    text += "[[gnu::constructor]] static void early() { keep(&sg::elsewhere::spare); }\nLEAK()"
    return LinkedWith((bench.compile("constructor", text),))


def _second_library(bench: LeakBench) -> LinkedWith:
    """Link all kernels of the full build again, including unused sections."""
    folder = unpacked_kernels(bench, "second")
    partial = folder / "all.obj"
    # LTO may discard a group whose functions the other kernels need.
    whole = ("--force-group-allocation",) if bench.build.lto else ()
    run("ld", "-r", *whole, "-o", partial, *sorted(folder.glob("*.o")))
    local = folder / "local.obj"
    run("objcopy", "--keep-global-symbol=nothing", partial, local)
    made = bench.compile("second", "LEAK()")
    return LinkedWith((made,), (str(local), "-Wl,--no-gc-sections"))


def _bitcode(bench: LeakBench) -> LinkedWith:
    """Link an LTO object in a build without LTO."""
    text = elsewhere("Result<Tensor> spare(")
    made = bench.compile("bitcode", text + "LEAK(keep(&sg::elsewhere::spare))", "-flto")
    return LinkedWith((made,))


LEAKS = (
    Leak("object_not_recorded", _unrecorded, (*GATHER, "unrecorded.o")),
    Leak("other_object_not_recorded", _unrecorded_other_code, ("stranger.o",), with_lto=False),
    # Maps of ld64 name no bitcode, so nothing tells that code of the app came from another file.
    Leak("other_bitcode_not_recorded", _unrecorded_other_code, ("stranger.o",), (ELF,)),
    Leak("library_not_recorded", _library, (*GATHER, "libhelper.a")),
    Leak("input_of_script", _input_of_script, (*GATHER, "of_script.o"), (ELF,)),
    Leak("response_file", _response_file, (*GATHER, "in_response.o")),
    Leak("exported", _exported, (*GATHER, "spare")),
    Leak("kept_by_script", _kept_by_script, NAMED, (ELF,)),
    Leak("undefined_on_command_line", _undefined, (*GATHER, "wanted", "spare")),
    Leak("alias", _alias, GATHER, (ELF,)),
    Leak("ifunc", _ifunc, GATHER, (ELF,)),
    Leak("constructor", _constructor, (*GATHER, "early")),
    Leak("second_library", _second_library, (*GATHER, "local.obj"), (ELF,)),
    Leak("bitcode", _bitcode, (*GATHER, "LTO")),
)
