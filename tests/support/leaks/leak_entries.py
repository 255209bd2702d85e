"""Leaks by registration, dtype and feature: disguised entries, names, loops and strings."""

from __future__ import annotations

import json

from tests.support.leaks.leak_bench import LeakBench, LinkedWith
from tests.support.leaks.leak_kinds import Leak, source
from tests.support.places import ROOT

RUNTIME = '#include "native/runtime/registry.h"\n'
CODE = "static bool serve(sg::Context&, const sg::Value*, sg::Value*) { return false; }\n"
TYPES = "struct Entry { sg::BoxedKernel code; const char* name; };\n"
NAME = '"aten::gelu(tz)t"'
LOOPS = '#include "native/operators/elementwise.h"\n'
_OWN_SECTION = '\n#ifdef __APPLE__\n"__DATA,__mine"\n#else\n"mine"\n#endif\n'
RELU = """struct Rectify { template <typename T> static T apply(T a, const sg::Parameters&) {
  return a < T(0) ? T(0) : a; } };
"""


def _entry(name: str, declaration: str) -> Leak:
    """Return a leak of gelu by a variable `entry`; declaration: of its type, and of itself."""
    text = RUNTIME + CODE + TYPES + declaration + "\nLEAK(keep(&entry))"
    return Leak(name, source(name, text), ("aten::gelu",))


def _relative(bench: LeakBench) -> LinkedWith:
    """Use 32-bit distances from the entry to its name and its code."""
    under = "_" if bench.is_macho else ""
    where = "__TEXT,__const" if bench.is_macho else '.rodata.entry,\\"a\\"'
    text = RUNTIME
    text += 'extern "C" const char the_name[]; const char the_name[] = "aten::gelu(tz)t";\n'
    text += 'extern "C" bool serve(sg::Context&, const sg::Value*, sg::Value*) { return 0; }\n'
    text += f'asm(".section {where}\\n.p2align 2\\n.globl {under}entry\\n{under}entry:\\n'
    text += f'.long {under}the_name - .\\n.long {under}serve - .\\n.text");\n'
    text += 'extern "C" const int entry[];\nLEAK(keep(entry))'
    return LinkedWith((bench.compile("relative_entry", text),))


def _wide_name(bench: LeakBench) -> LinkedWith:
    """Write an operator's name in UTF-16."""
    text = 'extern const char16_t name[]; const char16_t name[] = u"aten::gelu";\nLEAK(keep(name))'
    return LinkedWith((bench.compile("wide_name", text),))


ENTRIES = (
    _entry("entry_code_first", f"extern Entry entry; Entry entry = {{serve, {NAME}}};"),
    _entry(
        "entry_name_first",
        f"extern const sg::Operator entry; const sg::Operator entry = {{{NAME}, serve}};",
    ),
    _entry(
        "entry_name_inline",
        "struct Long { char name[24]; sg::BoxedKernel code; };\n"
        f"extern Long entry; Long entry = {{{NAME}, serve}};",
    ),
    _entry(
        "entry_name_behind_pointer",
        f"static const char* const text = {NAME};\n"
        "struct Far { sg::BoxedKernel code; const char* const* name; };\n"
        "extern const Far entry; const Far entry = {serve, &text};",
    ),
    _entry(
        "entry_far_apart",
        "struct Wide { const char* name; long fields[40]; sg::BoxedKernel code; };\n"
        f"extern Wide entry; Wide entry = {{{NAME}, {{1}}, serve}};",
    ),
    _entry(
        "entry_without_letters",
        'extern Entry entry; Entry entry = {serve, "aten::gelu"};',
    ),
    Leak("entry_relative", _relative, ("aten::gelu",)),
    _entry(
        "entry_in_own_section",
        f"extern Entry entry; [[gnu::section({_OWN_SECTION})]] Entry entry = {{serve, {NAME}}};",
    ),
    Leak("name_in_other_encoding", _wide_name, ("aten::gelu",)),
)

_SWITCH = """#include "native/selective/dtype_switch.h"
namespace sg::selected { inline constexpr DtypeSet relu_again = DtypeSet::all(); }
"""
DTYPES = (
    Leak(
        "dtype_of_own_loop",
        source(
            "own_loop",
            LOOPS + RELU + "LEAK(keep(&sg::unary_loop<double, double, Rectify>))",
        ),
        ("double", "Double"),
    ),
    Leak(
        "dtype_of_kernels_loop",
        source(
            "kernels_loop",
            LOOPS
            + "namespace sg::kernels { namespace {\n"
            + RELU.replace("Rectify", "Relu").replace("sg::", "")
            + "} auto f = &unary_loop<double, double, Relu>; }\nLEAK(keep(sg::kernels::f))",
        ),
        ("double", "Double"),
    ),
    Leak(
        "dtype_of_binary_loop",
        source(
            "binary_loop",
            LOOPS
            + "struct Sum { template <typename T> static T apply(T a, T b, const sg::Parameters&)"
            " { return a + b; } };\nLEAK(keep(&sg::binary_loop<short, short, Sum>))",
        ),
        ("short", "Short"),
    ),
    Leak(
        "dtype_of_overload",
        source(
            "overload",
            "namespace mine { void add_elements(const double* a, double* b, long n)"
            "\n{ for (long i = 0; i < n; ++i) b[i] = a[i] * a[i] + b[i]; } }\n"
            "LEAK(keep(&mine::add_elements))",
        ),
        ("add_elements",),
    ),
    Leak(
        "dtype_of_member",
        source(
            "member",
            "template <typename T> struct Body { static void unary_loop(const T* a, T* b, long n)"
            "\n{ for (long i = 0; i < n; ++i) b[i] = a[i] * a[i]; } };\n"
            "LEAK(keep(&Body<double>::unary_loop))",
        ),
        ("unary_loop",),
    ),
    Leak(
        "dtype_of_function_object",
        source(
            "function_object",
            "struct unary_loop { [[gnu::noinline]] void operator()(const double* a, double* b,"
            " long n) const\n{ for (long i = 0; i < n; ++i) b[i] = a[i] * a[i]; } };\n"
            "LEAK({ unary_loop u; u((double*)argv, (double*)argv, argc); })",
        ),
        ("unary_loop",),
    ),
    Leak(
        "dtype_of_template_operator",
        source(
            "template_operator",
            "struct unary_loop { template <typename T> [[gnu::noinline]] void operator()("
            "const char* a, char* b) const\n{ *(T*)b = *(const T*)a * *(const T*)a; } };\n"
            "LEAK(unary_loop{}.operator()<double>(argv[1], argv[2]))",
        ),
        ("unary_loop",),
    ),
    Leak(
        "dtype_with_a_tag",
        source(
            "tagged_body",
            'template <typename T> [[gnu::abi_tag("v2")]] void add_elements(const char* a, T* b)'
            "\n{ *b += *(const T*)a; }\nLEAK(keep(&add_elements<double>))",
        ),
        ("double", "Double"),
    ),
    Leak(
        "dtype_of_own_switch",
        source(
            "own_switch",
            _SWITCH + "static double total;\nvoid relu(sg::Context& context, sg::ScalarType d,"
            " const void* p) { SG_SWITCH_FLOATING(d, relu_again, [&]<typename T>() {"
            " total += *static_cast<const T*>(p); }); }\n"
            # Without a reader of the total, LTO would remove the sum.
            "LEAK(relu(*(sg::Context*)argv[1], sg::ScalarType(*argv[3]), argv[2]); keep(&total))",
        ),
        ("Double", "relu"),
    ),
)

# A message that only verbose_errors keeps, of more than one word.
TEXT = next(
    text
    for text in json.loads((ROOT / "native" / "operators" / "names.json").read_text())["features"][
        "verbose_errors"
    ]["texts"]
    if text.islower() and " " in text
)
FEATURES = (
    Leak(
        "feature_text_without_end",
        source("no_end", f'static const char text[] = "x{TEXT}y";\nLEAK(keep(&text[argc]))'),
        ("verbose_errors",),
    ),
    Leak(
        "feature_text_wide",
        source("wide_text", f'static const char16_t text[] = u"{TEXT}";\nLEAK(keep(&text[argc]))'),
        ("verbose_errors",),
    ),
)

# The name of a deselected class is a string that nothing reads.
CLASSES = (
    Leak(
        "class_name",
        source(
            "class_name",
            'static const char text[] = "LinearOpContext";\nLEAK(keep(&text[argc]))',
        ),
        ("LinearOpContext",),
    ),
)

LEAKS = (*ENTRIES, *DTYPES, *CLASSES, *FEATURES)
