"""Leaks by linkers: options, libraries and start-up; bytes outside of sections; other texts."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from pathlib import Path

from sizeguard.formats.binary import Binary
from sizeguard.formats.elf import read_elf
from sizeguard.verify.evidence.macho import read_macho_image
from tests.support.leaks.leak_bench import LeakBench, LinkedWith, run
from tests.support.leaks.leak_bytes import CODE, NAMED, blob
from tests.support.leaks.leak_compiled import KEEP, UNTRUE, Make, leak_of, nameless
from tests.support.leaks.leak_entries import LOOPS
from tests.support.leaks.leak_kinds import ELF, MACHO, Leak, lookup, source
from tests.support.places import ROOT

# int64_t is long, but long long on macOS.
SPARE, SPARE_OF_MACOS = (
    f"_ZN2sg9elsewhere5spareERNS_7ContextENS_6TensorE{code}S3_b" for code in "lx"
)
_EARLY = nameless() + (
    'extern "C" void early();\n'
    # LTO does not see that an option of the linker refers to it.
    'extern "C" [[gnu::used]] void early() { keep(&sg::elsewhere::spare); }\nLEAK()'
)
_SUBSECTIONS = 0x2000  # a flag of objects whose symbols divide sections


def linked(name: str, text: str, elf: tuple[str, ...], macho: tuple[str, ...]) -> Make:
    """Make a leak from a source and words of the command line."""

    def make(bench: LeakBench) -> LinkedWith:
        whole = ("-fno-lto",) if bench.is_macho else ()  # ld64.lld has no aliases with LTO
        return LinkedWith((bench.compile(name, text, *whole),), macho if bench.is_macho else elf)

    return make


def _folded(bench: LeakBench) -> LinkedWith:
    """Let the linker, or gcc, merge equal functions."""
    text = nameless() + nameless("namespace sg::other {").split('kernel.h"')[1]
    text += "LEAK(keep(&sg::elsewhere::spare), keep(&sg::other::spare))"
    option = () if bench.is_lld else ("-fipa-icf",)
    words = ("-Wl,--icf=all",) if bench.is_lld else ()
    return LinkedWith((bench.compile("folded", text, *option),), words)


def _own_file(bench: LeakBench) -> LinkedWith:
    """Keep a kernel's local helper, in an object with the name of the kernel's."""
    text = lookup() + "LEAK(keep(&sg::kernels::look_up))"
    return LinkedWith((bench.compile("lookup.cpp", text),))


def _whole_section(bench: LeakBench) -> LinkedWith:
    """Keep all code of an object whose sections are not divided."""
    made = bench.compile("whole_section", lookup() + "LEAK()", "-fno-lto")
    data = bytearray(made.read_bytes())
    flags = struct.unpack_from("<I", data, 24)[0]
    struct.pack_into("<I", data, 24, flags & ~_SUBSECTIONS)
    made.write_bytes(data)
    return LinkedWith((made,))


def _relocatable(bench: LeakBench) -> LinkedWith:
    made = bench.compile("partial_1", nameless() + KEEP, "-fno-lto")
    other = bench.compile("partial_2", "int partial_2;", "-fno-lto")
    joined = bench.folder / "partial.o"
    run("ld", "-r", "--unique=.nothing", "-o", joined, made, other)
    return LinkedWith((joined,))


def _forced_archive(bench: LeakBench) -> LinkedWith:
    """Force a recorded archive into the image, whose constructor keeps the kernel."""
    text = nameless() + "[[gnu::constructor]] static void early() { keep(&sg::elsewhere::spare); }"
    member = bench.compile("forced_member", text)
    archive = bench.folder / "libforced.a"
    archive.unlink(missing_ok=True)
    run("llvm-ar-19", "rcs", archive, member)
    words = ("-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive")
    return LinkedWith((bench.compile("forced", "LEAK()"), archive), words)


def _linker_option(bench: LeakBench) -> LinkedWith:
    """Let an object name a library that is not on the command line."""
    code = 'extern "C" void* wanted() { return (void*)&sg::elsewhere::spare; }'
    member = bench.compile("auto_member", nameless() + code, "-fno-lto")
    folder = bench.folder / "auto"
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / "libauto.a"
    archive.unlink(missing_ok=True)
    form = ["--format=darwin"] if bench.is_macho else []
    run("llvm-ar-19", *form, "rcs", archive, member)
    said = (
        '.linker_option \\"-lauto\\"'
        if bench.is_macho
        else '.section .deplibs,\\"MS\\",@llvm_dependent_libraries,1\\n.asciz \\"auto\\"\\n.text'
    )
    text = f'asm("{said}");\nextern "C" void* wanted();\nLEAK(keep(wanted()))'
    # GNU ld does not read such sections.
    named = () if bench.is_lld else ("-lauto",)
    # The linker reads no such option in bitcode.
    user = bench.compile("auto_user", text, "-fno-lto")
    return LinkedWith((user,), (f"-L{folder}", *named))


def _shared_library(bench: LeakBench) -> LinkedWith:
    """Move code into a library that the image needs."""
    text = 'extern "C" [[gnu::visibility("default")]] long helper(long n);\n'
    text += "long helper(long n) { long s = 0; while (n-- > 0) s += n * n; return s; }\n"
    made = bench.compile("shared_code", text, "-fPIC", "-fno-lto")
    user = bench.compile("shared_user", 'extern "C" long helper(long);\nLEAK(helper(argc))')
    if bench.is_macho:
        library = bench.folder / "libhelper.dylib"
        run("clang-19", "--target=arm64-apple-macos13.0", "-fuse-ld=lld", "-nostdlib",
            "-dynamiclib", made, "-o", library)  # fmt: skip
        return LinkedWith((user,), (str(library),))
    library = bench.folder / "libhelper.so"
    run("gcc", "-shared", "-nostdlib", made, "-o", library)
    return LinkedWith((user,), (str(library),))


def _entry(bench: LeakBench) -> LinkedWith:
    """Begin the program elsewhere."""
    name = bench.under("begin")
    jump = f"b {bench.under('main')}" if bench.is_macho else "jmp _start"
    symbol = bench.under(SPARE_OF_MACOS if bench.is_macho else SPARE)
    where = "" if bench.is_macho else '.section .text.begin,\\"ax\\"\\n'
    kept = f"adrp x9, {symbol}@PAGE" if bench.is_macho else f"lea {symbol}(%rip), %r9"
    text = nameless().replace("Result<Tensor> spare(", "[[gnu::used]] Result<Tensor> spare(")
    text += f'asm("{where}.globl {name}\\n.p2align 4\\n{name}:\\n{kept}\\n{jump}\\n.text");\nLEAK()'
    made = bench.compile("begin", text, "-fno-lto")
    return LinkedWith((made,), (f"-Wl,-e,{name}",))


def _live_name(bench: LeakBench) -> LinkedWith:
    """Give the kernel the name of one that the image needs, and prefer its definition."""
    head = "namespace sg::elsewhere { Result<Tensor> spare(Context&, Tensor, int64_t,"
    head += f' Tensor, bool) asm("{bench.mangled("permute")}"); }}\n'
    text = nameless()
    at = text.index("namespace sg::elsewhere {")
    made = bench.compile("live_name", text[:at] + head + text[at:] + KEEP, "-fno-lto")
    return LinkedWith((made,), ("-Wl,-z,muldefs",))


def read_image(bench: LeakBench, path: Path) -> Binary:
    return read_macho_image(path) if bench.is_macho else read_elf(path)


# Bytes outside of sections.


def _gap(bench: LeakBench) -> LinkedWith:
    """Write the bytes into a loaded page, between two sections."""
    code = bench.machine_code(CODE)

    def edit(path: Path) -> None:
        image = read_image(bench, path)
        ends = sorted(
            (s.offset, s.offset + s.file_size) for s in image.sections if s.file_size and s.address
        )
        data = bytearray(path.read_bytes())
        if bench.is_macho:  # between the load commands and the first section
            end = ends[0][0]
            at = end - min(len(code), 400) - 16
        else:  # after the last section of the first segment, up to the page's end
            gaps = [(b[0] - a[1], a[1]) for a, b in itertools.pairwise(ends)]
            room, at = max(gaps)
            assert room > 64, gaps
            end = at + room
        part = code[: end - at]
        assert set(data[at : at + len(part)]) <= {0, 0xCC}, "the gap is not padding"
        data[at : at + len(part)] = part
        path.write_bytes(data)

    words = () if bench.is_macho else ("-Wl,-z,separate-code",)
    return LinkedWith((bench.compile("gap", "LEAK()"),), words, edit)


def _appended(bench: LeakBench) -> LinkedWith:
    code = bench.machine_code(CODE)

    def edit(path: Path) -> None:
        with path.open("ab") as file:
            file.write(b"\0" * 16 + code)

    return LinkedWith((bench.compile("appended", "LEAK()"),), (), edit)


def _not_loaded(bench: LeakBench) -> LinkedWith:
    return blob("not_loaded", '.app,""', "", "LEAK()")(bench)


def _build_id(bench: LeakBench) -> LinkedWith:
    """Give the bytes as the build's identifier."""
    code = bench.machine_code(CODE)[:200]
    return LinkedWith((bench.compile("id", "LEAK()"),), (f"-Wl,--build-id=0x{code.hex()}",))


def _runpath(bench: LeakBench) -> LinkedWith:
    """Name an operator as a search path for libraries."""
    return LinkedWith((bench.compile("runpath", "LEAK()"),), ("-Wl,-rpath,aten::gelu",))


def _exported_name(bench: LeakBench) -> LinkedWith:
    """Export a variable with an operator's name."""
    text = (
        'extern "C" [[gnu::visibility("default")]] int shown;\nint shown = 5;\nLEAK(keep(&shown))'
    )
    made = bench.compile("exported_name", text, "-fno-lto")
    new, old = bench.under("aten::gelu"), bench.under("shown")
    run("llvm-objcopy-19", f"--redefine-sym={old}={new}", made)
    return LinkedWith((made,), ("-Wl,-export_dynamic" if bench.is_macho else "-rdynamic",))


def _other_bytes(name: str, words: tuple[str, ...], wanted: Callable[[str], bool]) -> Make:
    """Store the machine code of another deselected function as data."""

    def make(bench: LeakBench) -> LinkedWith:
        there = {s.name for s in read_image(bench, bench.build.image).symbols}
        found = [s for n, s in bench.symbols.items() if wanted(n) and n not in there]
        code = bench.bytes_of(max(found, key=lambda each: each.size))
        values = ",".join(map(str, code))
        text = "extern const unsigned char kept[];"
        text += f"const unsigned char kept[] = {{{values}}};"
        return LinkedWith((bench.compile(name, text + "\nLEAK(keep(&kept[argc]))"),))

    return make


def _plt(bench: LeakBench) -> LinkedWith:
    """Let a script write other code into a section with the linker's name for its calls."""
    script = bench.folder / "plt.ld"
    script.parent.mkdir(parents=True, exist_ok=True)
    content = " ".join(f"LONG({(i * 2654435761) & 0xFFFFFFFF})" for i in range(16))
    script.write_text(f"SECTIONS {{ .plt.app : {{ {content} }} }} INSERT AFTER .text;\n")
    return LinkedWith((bench.compile("plt", "LEAK()"),), (f"-Wl,-T,{script}",))


_START_STOP = (
    nameless()
    + """using F = decltype(&sg::elsewhere::spare);
#ifdef __APPLE__
[[gnu::section("__DATA,app_rows"), gnu::used]] static F row = &sg::elsewhere::spare;
extern F first __asm("section$start$__DATA$app_rows");
#else
[[gnu::section("app_rows"), gnu::used]] static F row = &sg::elsewhere::spare;
extern "C" [[gnu::weak]] F __start_app_rows; static F& first = __start_app_rows;
#endif
LEAK(keep(&first))"""
)
_POINTER = '[[gnu::section("{}"), gnu::used]] static void (*const at_start)() = early;'
_PREINIT = _EARLY.replace("LEAK()", _POINTER.format(".preinit_array") + "\nLEAK()")
_CTORS = _EARLY.replace("LEAK()", _POINTER.format(".ctors") + "\nLEAK()")
_TERM = _EARLY.replace(
    "LEAK()", _POINTER.format("__DATA,__mod_init_func,mod_init_funcs") + "\nLEAK()"
)
_CLASS_AGAIN = (ROOT / "native/prepacked/linear.cpp").read_text()
_CLASS_AGAIN = (
    _CLASS_AGAIN.replace(
        "namespace sg {\nnamespace {", "namespace sg { namespace again {\nnamespace {", 1
    )
    .replace("}  // namespace sg\n", "} }\n")
    .replace("linear_clamp_prepack", "lay_out")
    .replace("linear_clamp_run", "multiply_by")
    .replace("create_linear_context", "make_it")
    + "LEAK(keep(&sg::again::make_it))"
)
_LOCAL_CLASS = LOOPS + (
    "template <typename F> struct Of { template <typename T> static T apply(T a,"
    " const sg::Parameters&) { return F{}(a); } };\nstatic auto choose() {"
    " return []<typename T>(T a) { return a < 0 ? T(0) : a > 6 ? T(6) : a; }; }\n"
    "LEAK(keep(&sg::unary_loop<double, double, Of<decltype(choose())>>))"
)
LEAKS = (
    Leak("merged_functions", _folded, UNTRUE),
    Leak("helper_in_its_own_file", _own_file, UNTRUE, with_lto=False),
    Leak("undivided_object", _whole_section, UNTRUE, (MACHO,)),
    Leak("partial_link", _relocatable, UNTRUE, (ELF,)),
    Leak("forced_archive", _forced_archive, (*UNTRUE, "early", "libforced.a"), (ELF,)),
    Leak("library_named_by_object", _linker_option, (*UNTRUE, "libauto.a"), with_lto=False),
    Leak("shared_library", _shared_library, ("libhelper",)),
    Leak("entry_option", _entry, (*UNTRUE, "begin")),
    Leak(
        "init_option",
        linked("init_option", _EARLY, ("-Wl,-init=early",), ()),
        (*UNTRUE, "early"),
        (ELF,),
    ),
    Leak(
        "fini_option",
        linked("fini_option", _EARLY, ("-Wl,-fini=early",), ()),
        (*UNTRUE, "early"),
        (ELF,),
    ),
    Leak(
        "defined_symbol",
        linked(
            "defined",
            nameless() + 'extern "C" void other();\n[[gnu::used]] static auto* kept ='
            " &sg::elsewhere::spare;\nLEAK(other())",
            (f"-Wl,--defsym=other={SPARE}",),
            (f"-Wl,-alias,_{SPARE_OF_MACOS},_other",),
        ),
        UNTRUE,
    ),
    Leak("preinit_array", leak_of("preinit", _PREINIT), (*UNTRUE, "early"), (ELF,)),
    Leak("ctors", leak_of("ctors", _CTORS), (*UNTRUE, "early"), (ELF,)),
    Leak("mod_init_func", leak_of("mod_init", _TERM), (*UNTRUE, "early"), (MACHO,)),
    Leak(
        "rows_between_symbols",
        linked("start_stop", _START_STOP, ("-Wl,-z,nostart-stop-gc",), ()),
        UNTRUE,
    ),
    Leak("name_of_live_function", _live_name, UNTRUE, (ELF,)),
    Leak("bytes_between_sections", _gap, NAMED),
    Leak("bytes_after_the_end", _appended, NAMED),
    Leak("bytes_not_loaded", _not_loaded, NAMED, (ELF,)),
    Leak("bytes_as_build_id", _build_id, NAMED, (ELF,)),
    Leak("bytes_in_objc_section", blob("objc", "", "__DATA,__objc_const"), NAMED, (MACHO,)),
    Leak(
        "bytes_of_dtype_branch",
        _other_bytes("branch", (), lambda name: "unary_loopId" in name or "add_elementsId" in name),
        ("unary_loop", "add_elements", "machine code"),
    ),
    Leak(
        "bytes_of_class",
        _other_bytes("class_code", (), lambda name: "create_linear_context" in name),
        ("linear", "machine code"),
    ),
    Leak(
        "bytes_of_feature",
        _other_bytes("feature_code", (), lambda name: "compare_" in name or "write_index" in name),
        ("compare", "write_index", "machine code"),
    ),
    Leak(
        "class_in_other_namespace",
        source("class_again", _CLASS_AGAIN),
        ("linear", "LinearOp", "machine code"),
    ),
    Leak(
        "dtype_of_generic_lambda", source("local_class", _LOCAL_CLASS, "-O3"), ("double", "Double")
    ),
    Leak("code_in_plt_section", _plt, ("does not explain", "plt.ld"), (ELF,)),
    Leak("name_as_search_path", _runpath, ("aten::gelu",)),
    Leak("name_as_export", _exported_name, ("aten::gelu",)),
    Leak(
        "names_in_a_list",
        source(
            "list",
            'static const char all[] = "add,aten::gelu,aten::silu;";\nLEAK(keep(&all[argc]))',
        ),
        ("aten::gelu",),
    ),
    Leak(
        "name_in_big_endian",
        source(
            "big_endian",
            "extern const unsigned char all[]; const unsigned char all[] = {"
            + ",".join(map(str, "aten::gelu".encode("utf-16-be") + b"\0\0"))
            + "};\nLEAK(keep(all))",
        ),
        ("aten::gelu",),
    ),
)
