"""More leaks that were invented after the verifier was finished."""

from __future__ import annotations

from tests.support.leaks.leak_bench import KERNELS, LeakBench, LinkedWith
from tests.support.leaks.leak_bytes import CODE, NAMED
from tests.support.leaks.leak_compiled import KEEP, UNTRUE, leak_of, nameless
from tests.support.leaks.leak_entries import CODE as OWN_CODE
from tests.support.leaks.leak_entries import LOOPS, RELU, RUNTIME
from tests.support.leaks.leak_kinds import ELF, GATHER, Leak, elsewhere, unpacked_kernels
from tests.support.leaks.leak_linked import SPARE, linked
from tests.support.places import ROOT

DOUBLE = ("double", "Double")


def _real_kernel(bench: LeakBench) -> LinkedWith:
    """Keep the build's own object code of the kernel by an option."""
    name = bench.under(bench.mangled("gather"))
    return LinkedWith((bench.compile("real_kernel", "LEAK()"),), (f"-Wl,-u,{name}",))


def _full_object(bench: LeakBench) -> LinkedWith:
    """Link the full build's object by a weak reference."""
    made = unpacked_kernels(bench, "whole") / "lookup.cpp.o"
    copy = bench.folder / "whole_lookup.o"
    copy.write_bytes(made.read_bytes())
    name = bench.under(bench.mangled("gather"))
    text = f'extern "C" [[gnu::weak]] void there() asm("{name}");\nLEAK(keep(&there))'
    return LinkedWith((bench.compile("weak_reference", text, "-fno-lto"), copy))


def _wrap(bench: LeakBench) -> LinkedWith:
    """Let the linker put the kernel's user in place of an undefined function."""
    text = nameless() + (
        'extern "C" void hook();\n'
        'extern "C" [[gnu::used]] void __wrap_hook() { keep(&sg::elsewhere::spare); }\n'
        "LEAK(hook())"
    )
    return LinkedWith((bench.compile("wrap", text, "-fno-lto"),), ("-Wl,--wrap=hook",))


def _version(bench: LeakBench) -> LinkedWith:
    """Export the kernel with a version."""
    text = declared_default() + f'asm(".symver {SPARE}, rows@@APP_1");\nLEAK()'
    script = bench.folder / "app.ver"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text("APP_1 { global: rows; local: *; };\n")
    made = bench.compile("symbol_version", text, "-fno-lto")
    return LinkedWith((made,), (f"-Wl,--version-script={script}", "-rdynamic"))


def declared_default() -> str:
    return nameless().replace(
        "Result<Tensor> spare(", '[[gnu::visibility("default")]] Result<Tensor> spare('
    )


def _incbin(bench: LeakBench) -> LinkedWith:
    """Let the assembler include a file of machine code, without a type or size."""
    path = bench.folder / "rows.bin"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bench.machine_code(CODE))
    label = bench.under("rows_code")
    where = ".text" if bench.is_macho else '.section .text.unlikely.app,\\"ax\\",@progbits'
    text = (
        f'asm("{where}\\n.p2align 4\\n.globl {label}\\n{label}: .incbin \\"{path}\\"\\n.text");\n'
        'extern "C" void rows_code();\nLEAK(rows_code())'
    )
    return LinkedWith((bench.compile("incbin", text),))


def _comdat(bench: LeakBench) -> LinkedWith:
    """Put the kernel into a group whose signature is a selected kernel's name."""
    live = bench.mangled("relu")

    def edit(text: str) -> str:
        return text.replace(
            f'.text.{SPARE},"ax",@progbits', f'.text.{live},"axG",@progbits,{live}_rows,comdat'
        )

    return LinkedWith((bench.assemble("signature", nameless() + KEEP, edit),))


def _std_function() -> str:
    """Return a std::function whose target is a lambda with the kernel's code."""
    text = nameless()
    at = text.index("Result<Tensor> spare(")
    end = text.index("\n}\n", at) + 3
    body = text[at:end].replace("Result<Tensor> spare(", "[](", 1)
    body = body.replace(") {", ") -> Result<Tensor> {", 1).rstrip()
    held = (
        "using Held = std::function<Result<Tensor>(Context&, Tensor, int64_t, Tensor, bool)>;\n"
        f"extern Held held; Held held = {body};\n"
    )
    return (
        "#include <functional>\n"
        + text[:at]
        + held
        + text[end:]
        + ("LEAK(keep(&sg::elsewhere::held))")
    )


_STATIC_LOCAL = nameless() + (
    "struct Last { int n; ~Last() { keep(&sg::elsewhere::spare); } };\n"
    "static int* once(int n) { static Last last{n}; return &last.n; }\nLEAK(keep(once(argc)))"
)


def _static_local(bench: LeakBench) -> LinkedWith:
    """Let the destructor of a static local object keep the kernel."""
    hidden = ("-Wl,-U,___cxa_atexit",) if bench.is_macho else ()
    made = bench.compile("static_local", _STATIC_LOCAL, "-fno-threadsafe-statics")
    return LinkedWith((made,), hidden)


def _constructor_of_class() -> str:
    """Return the kernel as a constructor of a class with its name; options change its bytes."""
    text = nameless()
    at = text.index("Result<Tensor> spare(")
    end = text.index("\n}\n", at) + 3
    body = text[at:end]
    inner = body[body.index("{") :].rstrip()
    made = (
        "struct gather { Result<Tensor> made;\n"
        " [[gnu::noinline]] gather(Context& context, Tensor self, int64_t dim, Tensor index)"
        f" : made([&]() -> Result<Tensor> {inner}()) {{}} }};\n"
    )
    return (
        text[:at]
        + made
        + text[end:]
        + (
            "LEAK(auto* c = (sg::Context*)argv[1]; auto* t = (sg::Tensor*)argv[2];"
            " sg::elsewhere::gather r(*c, t[0], argc, t[1]); keep(&r))"
        )
    )


_ARGUMENT = elsewhere() + (
    "template <auto kernel> [[gnu::noinline]] void call(int argc, char** argv) {"
    " auto* c = (sg::Context*)argv[1]; auto* t = (sg::Tensor*)argv[2];"
    " auto r = kernel(*c, t[0], argc, t[1], true); keep(&r); }\n"
    "LEAK(call<&sg::elsewhere::gather>(argc, argv))"
)
_INSTRUMENTED = nameless() + (
    'extern "C" {\n[[gnu::no_instrument_function]] void __cyg_profile_func_enter(void*, void*);\n'
    "[[gnu::no_instrument_function]] void __cyg_profile_func_exit(void*, void*);\n"
    "void __cyg_profile_func_enter(void*, void*) {}\n"
    "void __cyg_profile_func_exit(void*, void*) {}\n}\n" + KEEP
)


def _between(file: str, end: str) -> str:
    """Return the beginning of a file's unnamed namespace, up to a text."""
    return (KERNELS / file).read_text().split("namespace {\n", 1)[1].split(end)[0]


# A dtype branch in other forms.
_SUM = (
    '#include "native/operators/reduce.h"\n#include "native/selective/dtype_switch.h"\n'
    "namespace sg::elsewhere {\n"
    + (KERNELS / "reduction.cpp")
    .read_text()
    .split("namespace {\n", 1)[1]
    .split("void find_true")[0]
)
_NORMAL = '#include "native/operators/kernel.h"\nnamespace sg::elsewhere {\n' + _between(
    "normalization.cpp", "/// Normalizes rows"
)
_VISIT = (
    "#include <variant>\n" + LOOPS + RELU + "using Data = std::variant<float*, double*, long*>;\n"
    "LEAK(Data data; *argv[1] & 1 ? data = (float*)argv : *argv[1] & 2 ? data = (double*)argv"
    " : data = (long*)argv; std::visit([&]<typename T>(T* p) {"
    " sg::unary_loop<T, T, Rectify>(argc, argv, (const int64_t*)p, *(sg::Parameters*)argv[3]); },"
    " data))"
)
_SIZEOF = _SUM + (
    "}\nLEAK(auto& total = *(sg::Accumulator*)argv[1]; switch (argv[2][0]) {"
    " case sizeof(float): sg::elsewhere::add_elements<float>(argc, argv[3], 4, total); break;"
    " case sizeof(double): sg::elsewhere::add_elements<double>(argc, argv[3], 8, total); break; })"
)
_GOTO = _NORMAL + (
    "}\nLEAK(static void* const places[] = {&&singles, &&doubles}; goto *places[argv[1][0]];"
    " singles: sg::elsewhere::normalize_channels<float>(argc, 2, 3, (const float* const*)argv,"
    " (float*)argv[4], 1.f); return;"
    " doubles: sg::elsewhere::normalize_channels<double>(argc, 2, 3, (const double* const*)argv,"
    " (double*)argv[4], 1.))"
)
_TABLE = (
    LOOPS
    + RELU
    + (
        "template <typename... T> struct Types {\n"
        "  static constexpr sg::ElementLoop loops[] = {&sg::unary_loop<T, T, Rectify>...}; };\n"
        "LEAK(auto f = Types<unsigned char, signed char, short, int, int64_t, float, double>"
        "::loops[argv[1][0]]; f(argc, argv, (int64_t*)argv[1], *(sg::Parameters*)argv[2]))"
    )
)
_NUMBERED = LOOPS + (
    "template <int dtype> struct Row;\n"
    "template <> struct Row<6> { using type = float; };\n"
    "template <> struct Row<7> { using type = double; };\n"
    "template <int dtype> [[gnu::noinline]] void row_of(int64_t n, char* const* data,"
    " const int64_t* strides) { char* out = data[0]; const char* a = data[1];"
    " for (; n > 0; --n, out += strides[0], a += strides[1]) {"
    " using T = typename Row<dtype>::type; const T x = *reinterpret_cast<const T*>(a);"
    " if constexpr (dtype == 7) *reinterpret_cast<T*>(out) = x < T(0) ? T(0) : x;"
    " else *reinterpret_cast<T*>(out) = x; } }\n"
    "LEAK(row_of<7>(argc, argv, (int64_t*)argv[1]))"
)
_DEFAULTED = _NORMAL.replace("template <typename T>", "template <typename T = double>") + (
    "}\nLEAK(keep(&sg::elsewhere::normalize_channels<>))"
)
_STATIC_MEMBER = (
    _SUM.replace("template <typename T>", "template <typename T> struct Sums {").replace(
        "SG_DTYPE_BODY void", "[[gnu::noinline]] static void"
    )
    + "};\n}\nLEAK(keep(&sg::elsewhere::Sums<double>::add_elements))"
)
_ABBREVIATED = (
    '#include "native/operators/reduce.h"\nnamespace sg::elsewhere {\n'
    "inline void add_elements(int64_t n, const auto* data, int64_t stride, Accumulator& total) {\n"
    "  for (; n > 0; --n, data += stride) total.number += *data; }\n}\n"
    "LEAK(sg::elsewhere::add_elements(argc, (const double*)argv[1], argv[2][0],"
    " *(sg::Accumulator*)argv[3]))"
)
_WRAPPED = (
    LOOPS
    + RELU
    + (
        "struct Real { double n; Real() = default; Real(double m) : n(m) {}\n"
        "  bool operator<(Real o) const { return n < o.n; } };\n"
        "LEAK(keep(&sg::unary_loop<Real, Real, Rectify>))"
    )
)

# Classes, registrations and features.
_CLASS_TAIL = (
    RUNTIME
    + "static sg::Object* make(sg::Context&, sg::Span<const sg::Value>) { return nullptr; }\n"
    'static const char text[] = "PackedLinearOpContext";\n'
    "extern sg::ObjectClass made; sg::ObjectClass made{text + 6, make, nullptr};\n"
    "LEAK(sg::register_class(&made); keep(&text))"
)
_DERIVED = (
    '#include "native/prepacked/linear.h"\n#include "native/runtime/context.h"\n'
    "struct Mine final : sg::LinearOpContext { long more = 0; };\n"
    "LEAK(auto& c = *(sg::Context*)argv[1]; auto* made = c.create_object<Mine>();"
    " auto r = sg::kernels::linear_clamp_run(c, *(sg::Tensor*)argv[2], made); keep(&r))"
)
_TYPE_INFORMATION = (
    '#include <typeinfo>\n#include "native/prepacked/linear.h"\n'
    "LEAK(keep(typeid(sg::LinearOpContext).name()))"
)
_SPLIT = nameless() + (
    "struct Named { const char* space; const char* name; decltype(&sg::elsewhere::spare) code; };\n"
    'extern const Named rows[]; const Named rows[] = {{"aten", "gather", &sg::elsewhere::spare}};\n'
    "LEAK(keep(&rows[argc]))"
)
_LIBRARY = (
    RUNTIME
    + OWN_CODE
    + "#define SG_CONCATENATE_(a, b) a##b\n#define SG_CONCATENATE(a, b) SG_CONCATENATE_(a, b)\n"
    'static constexpr sg::Operator table[] = {{"aten::gelu(tz)t", serve}};\n'
    'SG_REGISTER_LIBRARY("extra", "CPU", table);\nLEAK()'
)
_HASHED = nameless() + (
    "consteval unsigned long hash(const char* s) { unsigned long h = 14695981039346656037u;"
    " while (*s != 0) h = (h ^ (unsigned char)*s++) * 1099511628211u; return h; }\n"
    "struct Slot { unsigned long key; decltype(&sg::elsewhere::spare) code; };\n"
    'extern const Slot slots[]; const Slot slots[] = {{hash("aten::gather"),'
    " &sg::elsewhere::spare}};\nLEAK(keep(&slots[argc]))"
)


def _again(path: str) -> str:
    """Return a source of the runtime, to be compiled with everything selected."""
    return (ROOT / "native" / path).read_text() + "\nLEAK()"


# It leaves no text: it reads a clock.
_PROFILED = """
#include <string_view>
#include "native/selective/build_feature.h"
#undef SG_BUILD_FEATURE
#define SG_BUILD_FEATURE(feature) (std::string_view(#feature) == "profiling")
"""


def _debug_section(bench: LeakBench) -> LinkedWith:
    """Put the bytes into a loaded section with the name of debug information."""
    code = ",".join(map(str, bench.machine_code(CODE)))
    text = f'asm(".section .debug_app,\\"a\\",@progbits\\n.globl hidden\\nhidden: .byte {code}\\n'
    text += '.text");\nextern "C" const char hidden[];\nLEAK(keep(hidden))'
    return LinkedWith((bench.compile("debug_section", text),))


def _comment(bench: LeakBench) -> LinkedWith:
    """Put the bytes into the section of compilers' versions, which stays in a stripped file."""
    code = ",".join(map(str, bench.machine_code(CODE)))
    text = f'asm(".section .comment\\n.byte {code}\\n.text");\nLEAK()'
    return LinkedWith((bench.compile("comment", text),))


def _shared_name(bench: LeakBench) -> LinkedWith:
    """Give two kinds of code one name: a local kernel in a file with a live file's name."""
    text = nameless("namespace sg::kernels { namespace {", "}}") + (
        "LEAK(keep(&sg::kernels::spare))"
    )
    return LinkedWith((bench.compile("unary.cpp", text),))


INVENTED = (
    Leak("undefined_real_kernel", _real_kernel, GATHER),
    Leak(
        "sections_not_collected",
        linked("no_gc", "LEAK()", ("-Wl,--no-gc-sections",), ()),
        ("gelu", "sigmoid", "unary"),
        (ELF,),
        with_lto=False,  # LTO removes unused code by itself
    ),
    Leak("wrapped_function", _wrap, UNTRUE, (ELF,)),
    Leak("symbol_version", _version, UNTRUE, (ELF,)),
    Leak("included_bytes", _incbin, UNTRUE),
    Leak("group_of_other_signature", _comdat, UNTRUE, (ELF,)),
    Leak("object_of_full_build", _full_object, GATHER),
    Leak("std_function", leak_of("std_function", _std_function()), UNTRUE, (ELF,)),
    Leak("static_local_destructor", _static_local, UNTRUE),
    Leak(
        "constructor_of_class_gather",
        leak_of("constructor_of", _constructor_of_class(), "-O3"),
        GATHER,
    ),
    Leak("kernel_as_template_argument", leak_of("argument", _ARGUMENT, "-O3"), GATHER),
    Leak("instrumented", leak_of("instrumented", _INSTRUMENTED, "-finstrument-functions"), UNTRUE),
    Leak("without_plt", leak_of("without_plt", nameless() + KEEP, "-fno-plt"), UNTRUE),
    Leak("kernel_in_live_files_name", _shared_name, UNTRUE),
    Leak("dtype_of_variant", leak_of("variant", _VISIT), (*DOUBLE, "unary_loop"), (ELF,)),
    Leak("dtype_by_size", leak_of("by_size", _SIZEOF), (*DOUBLE, "add_elements")),
    Leak("dtype_by_computed_goto", leak_of("goto", _GOTO), (*DOUBLE, "normalize_channels")),
    Leak("dtype_in_table_of_types", leak_of("types", _TABLE), DOUBLE),
    Leak("dtype_by_number", leak_of("numbered", _NUMBERED), (*DOUBLE, "Relu", "row_of")),
    Leak("dtype_of_default_argument", leak_of("defaulted", _DEFAULTED), DOUBLE),
    Leak("dtype_of_static_member", leak_of("static_member", _STATIC_MEMBER), DOUBLE),
    Leak("dtype_of_auto_parameter", leak_of("auto", _ABBREVIATED), (*DOUBLE, "add_elements")),
    Leak("dtype_in_a_class", leak_of("wrapped", _WRAPPED), (*DOUBLE, "Relu", "unary_loop")),
    Leak("class_name_as_tail", leak_of("class_tail", _CLASS_TAIL), ("LinearOpContext",)),
    Leak(
        "class_name_in_type_information",
        leak_of("rtti", _TYPE_INFORMATION, "-frtti"),
        ("LinearOpContext",),
    ),
    Leak("derived_class", leak_of("derived", _DERIVED), ("linear", "LinearOp")),
    Leak("split_name_in_table", leak_of("split", _SPLIT), UNTRUE),
    Leak("registered_library", leak_of("registered", _LIBRARY), ("aten::gelu",)),
    Leak("names_as_hashes", leak_of("hashed", _HASHED), UNTRUE),
    Leak(
        "feature_of_recompiled_file",
        leak_of("interpreter", _again("runtime/interpreter.cpp")),
        ("profiling", "verbose_errors"),
    ),
    Leak(
        "texts_of_two_features",
        leak_of("verified", _again("runtime/verify.cpp")),
        ("verbose_errors",),
    ),
    Leak(
        "one_feature_of_recompiled_file",
        leak_of("profiled", _PROFILED + _again("runtime/interpreter.cpp")),
        ("profiling",),
    ),
    Leak(
        "dtypes_of_recompiled_file",
        leak_of("unary_of_all", _again("operators/kernels/unary.cpp")),
        DOUBLE,
    ),
    Leak("bytes_in_debug_section", _debug_section, NAMED, (ELF,)),
    Leak("bytes_in_comment", _comment, NAMED, (ELF,)),
)
