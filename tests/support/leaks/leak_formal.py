"""Leaks in forms that demanglers, linkers and string tables write otherwise than the plain ones."""

from __future__ import annotations

from pathlib import Path

from tests.support.leaks.leak_bench import PROLOGUE, LeakBench, LinkedWith, run
from tests.support.leaks.leak_compiled import KEEP, UNTRUE, Make, leak_of, nameless
from tests.support.leaks.leak_entries import CODE as OWN_CODE
from tests.support.leaks.leak_entries import LOOPS, RUNTIME
from tests.support.leaks.leak_kinds import ELF, GATHER, MACHO, Leak, called, elsewhere, source

DOUBLE = ("double", "Double")


def _divided() -> tuple[str, str, str]:
    """Return the text before gather, its body, and the text behind it; helpers are renamed."""
    text = nameless()
    at = text.index("Result<Tensor> spare(")
    end = text.index("\n}\n", at) + 3
    body = text[at:end]
    return text[:at], body[body.index("{") :].rstrip(), text[end:]


_BEFORE, _BODY, _BEHIND = _divided()
_ARGUMENTS = "auto* c = (sg::Context*)argv[1]; auto* t = (sg::Tensor*)argv[2]; (void)c; (void)t;"

# Names.
_TAGGED = elsewhere('[[gnu::abi_tag("app")]] Result<Tensor> gather(') + (
    "LEAK(keep(&sg::elsewhere::gather))"
)
_VARIABLE = (
    _BEFORE
    + "template <int n> constexpr auto gather = [](Context& context, Tensor self, int64_t dim,"
    f" Tensor index, bool) -> Result<Tensor> {_BODY};\n"
    + _BEHIND
    + "LEAK(keep(+sg::elsewhere::gather<7>))"
)
_DESTRUCTOR = (
    _BEFORE + "struct gather { Context& context; Tensor self; int64_t dim; Tensor index;"
    " Result<Tensor>* made;\n [[gnu::noinline]] ~gather() {"
    f" *made = [&]() -> Result<Tensor> {_BODY}(); }} }};\n"
    + _BEHIND
    + f"LEAK({_ARGUMENTS} auto* r = (sg::Result<sg::Tensor>*)argv[3];"
    " { sg::elsewhere::gather g{*c, t[0], argc, t[1], r}; keep(&g); })"
)
_CONVERSION = (
    _BEFORE + "struct gather { Context& context; Tensor self; int64_t dim; Tensor index;\n"
    f" [[gnu::noinline]] operator Result<Tensor>() {_BODY} }};\n"
    + _BEHIND
    + f"LEAK({_ARGUMENTS} sg::elsewhere::gather g{{*c, t[0], argc, t[1]}};"
    " sg::Result<sg::Tensor> r = g; keep(&r))"
)
_CLONES = elsewhere('[[gnu::target_clones("avx2", "default")]] Result<Tensor> gather(') + (
    "LEAK(keep(&sg::elsewhere::gather))"
)
_STUB = (
    'extern "C" void GOMP_parallel(void (*f)(void*), void* d, unsigned, unsigned) { f(d); }\n'
    'extern "C" void __kmpc_fork_call(void*, int, void (*f)(int*, int*, ...), ...) { keep(&f); }\n'
    'extern "C" int omp_get_thread_num() { return 0; }\n'
)
_OPENMP = (
    _BEFORE
    + "Result<Tensor> gather(Context& context, Tensor self, int64_t dim, Tensor index, bool) {\n"
    ' Result<Tensor> made = context.invalid("none");\n'
    "#pragma omp parallel\n made = [&]() -> Result<Tensor> "
    + _BODY
    + "();\n return made; }\n"
    + _BEHIND
    + _STUB
    + "LEAK(keep(&sg::elsewhere::gather))"
)


def _module(bench: LeakBench) -> LinkedWith:
    """Attach the kernel to a named module, which is in its mangled name."""
    bench.folder.mkdir(parents=True, exist_ok=True)
    text = elsewhere()
    at = text.index("namespace sg::elsewhere {")
    text = f"module;\n{text[:at]}export module rows;\n{text[at:]}"
    text += 'extern "C" void* rows() { return (void*)&sg::elsewhere::gather; }\n'
    source, output = bench.folder / "rows.cppm", bench.folder / "rows.o"
    source.write_text(text)
    if bench.is_clang or bench.is_macho:
        bench.compile_terse(source, output, "-O3")
    else:
        bench.compile_terse(source, output, "-O3", "-fmodules-ts", "-x", "c++")
    user = bench.compile("module_user", 'extern "C" void* rows();\nLEAK(keep(rows()))')
    return LinkedWith((output, user))


def _terse(name: str, text: str, *options: str) -> Make:
    """Make a leak from a source that has the app's build features, thus none of their texts."""

    def make(bench: LeakBench) -> LinkedWith:
        bench.folder.mkdir(parents=True, exist_ok=True)
        path = bench.folder / f"{name}.cpp"
        path.write_text(PROLOGUE + text)
        return LinkedWith((bench.compile_terse(path, path.with_suffix(".o"), *options),))

    return make


# Dtypes.
_MIXED = LOOPS + (
    "struct Round { template <typename T> static float apply(T a, const sg::Parameters&) {"
    " return float(a < T(0) ? T(0) : a); } };\n"
    "LEAK(keep(&sg::unary_loop<double, float, Round>))"
)
_FOLD = LOOPS + (
    "struct Rectify { template <typename T> static T apply(T a, const sg::Parameters&) {"
    " return a < T(0) ? T(0) : a; } };\n"
    "template <typename... T> [[gnu::noinline]] void all_loops(long n, char* const* d,"
    " const int64_t* s, const sg::Parameters& p) {"
    " (sg::unary_loop<T, T, Rectify>(n, d, s, p), ...); }\n"
    "LEAK(all_loops<float, double>(argc, argv, (int64_t*)argv[1], *(sg::Parameters*)argv[2]))"
)

# Texts.
_PACKED = (
    RUNTIME
    + OWN_CODE
    + (
        'extern const char names[]; const char names[] = "aten::reluaten::geluaten::silu";\n'
        "struct Row { unsigned short start, end; sg::BoxedKernel code; };\n"
        "extern const Row rows[]; const Row rows[] = {{10, 20, serve}};\n"
        "LEAK(keep(rows), keep(names))"
    )
)
# An argument that the template of the body does not have.
_SIZED = (
    '#include "native/operators/reduce.h"\n'
    "template <int size> [[gnu::always_inline]] inline void add_elements(int n,"
    " const char* data, long stride, sg::Accumulator& total) { for (; n > 0; --n, data += stride)"
    " total.number += *reinterpret_cast<const double*>(data); }\n"
    "LEAK(add_elements<8>(argc, argv[1], argv[2][0], *(sg::Accumulator*)argv[3]))"
)
_OVERLOAD = (
    RUNTIME
    + OWN_CODE
    + (
        "struct Row { const char* name; sg::BoxedKernel code; };\n"
        'extern const Row rows[]; const Row rows[] = {{"aten::add.float", serve}};\n'
        "LEAK(keep(rows))"
    )
)
_UTF32 = (
    "extern const unsigned char all[]; const unsigned char all[] = {0,"
    + ",".join(map(str, "aten::gelu".encode("utf-32-be") + b"\0\0\0\0"))
    + "};\nLEAK(keep(all))"
)
_CLASS_ARGUMENT = (
    '#include "native/prepacked/linear.h"\n#include "native/runtime/context.h"\n'
    "template <typename T> [[gnu::noinline]] long spread(const sg::Object* o) {"
    " auto* t = static_cast<const T*>(o); return t->inputs * 31 + t->outputs; }\n"
    "LEAK(argv[spread<sg::LinearOpContext>((sg::Object*)argv[1])] = nullptr)"
)


def _exports(bench: LeakBench) -> LinkedWith:
    """Export names that share a beginning, so that the export trie divides them."""
    names = ("aten::gelu", "aten::gemm", "aten::argmax")
    shown = '[[gnu::visibility("default")]]'
    text = "".join(f'extern "C" {shown} int shown{i}; int shown{i} = {i + 3};\n' for i in range(3))
    made = bench.compile("exports", text + "LEAK(keep(&shown0), keep(&shown1), keep(&shown2))")
    for i, name in enumerate(names):
        run("llvm-objcopy-19", f"--redefine-sym=_shown{i}=_{name}", made)
    return LinkedWith((made,), ("-Wl,-export_dynamic",))


# Links.
def _start_file(bench: LeakBench) -> LinkedWith:
    """Link an object with exactly the name of a compiler's start-up file."""
    made = bench.compile("starts", nameless() + KEEP)
    folder = bench.folder / "moved"
    folder.mkdir(exist_ok=True)
    copy = folder / "crtbegin.o"
    copy.write_bytes(made.read_bytes())
    return LinkedWith((), (str(copy),))


def _overlay(bench: LeakBench) -> LinkedWith:
    """Place the kernel at the address of other code, to be copied there when it is needed."""
    text = nameless().replace(
        "Result<Tensor> spare(", '[[gnu::section(".over2")]] Result<Tensor> spare('
    )
    text += '[[gnu::section(".over1"), gnu::noinline]] int first(int n);\n'
    text += "int first(int n) { int s = 1; while (n-- > 0) s = s * 31 + (n ^ s); return s; }\n"
    text += "LEAK(keep(&sg::elsewhere::spare), keep(&first))"
    made = bench.compile("overlay", text, "-fno-lto")
    script = bench.folder / "overlay.ld"
    script.write_text(
        "SECTIONS { OVERLAY 0x8000000 : AT (0x8100000) {\n .over1 { *(.over1) }\n"
        " .over2 { *(.over2) } } } INSERT AFTER .bss;\n"
    )
    return LinkedWith((made,), (f"-Wl,-T,{script}", "-Wl,--no-check-sections"))


def _without_headers(bench: LeakBench) -> LinkedWith:
    """Remove the section headers of the shipped file."""

    def edit(path: Path) -> None:
        if path.name.endswith(".stripped"):
            run("llvm-strip-19", "--strip-sections", path)

    made = bench.compile("headless", nameless() + KEEP)
    return LinkedWith((made,), (), edit)


def _inlined() -> str:
    head = '#include "native/operators/kernel.h"\nnamespace sg::elsewhere { [[gnu::always_inline]]'
    head += " inline Result<Tensor> gather(Context&, Tensor, int64_t, Tensor, bool); }\n"
    return head + elsewhere()


FORMAL = (
    Leak("abi_tag", _terse("tagged", _TAGGED, "-O3"), GATHER),
    Leak("variable_template", _terse("variable", _VARIABLE, "-O3"), GATHER),
    Leak("destructor_of_class_gather", _terse("destroyed", _DESTRUCTOR, "-O3"), GATHER),
    Leak("conversion_of_class_gather", _terse("converted", _CONVERSION, "-O3"), GATHER),
    # lld 19 crashes when LTO compiles a function that is chosen by the processor.
    Leak("clones_of_targets", _terse("clones", _CLONES, "-O3", "-fno-lto"), GATHER, (ELF,)),
    Leak("openmp_function", _terse("openmp", _OPENMP, "-O3", "-fopenmp"), GATHER, (ELF,)),
    Leak("named_module", _module, GATHER),
    Leak("dtype_of_mixed_loop", leak_of("mixed", _MIXED, "-O3"), (*DOUBLE, "unary_loop")),
    Leak("dtype_of_fold", leak_of("fold", _FOLD, "-O3"), DOUBLE),
    Leak("dtype_of_inlined_size", leak_of("sized", _SIZED, "-O3"), ("add_elements",)),
    Leak("packed_names", source("packed", _PACKED), ("aten::gelu",)),
    Leak("name_of_an_overload", source("overload", _OVERLOAD), ("aten::add.float",)),
    Leak("name_in_utf_32_be", source("utf32", _UTF32), ("aten::gelu",)),
    Leak("template_of_class", _terse("of_class", _CLASS_ARGUMENT, "-O3"), ("LinearOpContext",)),
    Leak("names_in_export_trie", _exports, ("aten::gelu",), (MACHO,), with_lto=False),
    Leak("start_file_name", _start_file, (*UNTRUE, "crtbegin.o")),
    Leak("overlay", _overlay, ("elsewhere::spare",), (ELF,)),
    Leak("shipped_without_headers", _without_headers, ("stripped",), (ELF,)),
    Leak(
        "type_units",
        _terse(
            "units", _inlined() + called("elsewhere"), "-O3", "-gdwarf-4", "-fdebug-types-section"
        ),
        GATHER,
        (ELF,),
    ),
)
