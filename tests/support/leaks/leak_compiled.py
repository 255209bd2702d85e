"""Leaks in forms that compilers emit: copies, clones, function parts, debug information."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.support.leaks.leak_bench import KERNELS, LeakBench, LinkedWith
from tests.support.leaks.leak_bytes import NAMED
from tests.support.leaks.leak_kinds import ELF, GATHER, Leak, called, elsewhere, lookup

Make = Callable[[LeakBench], LinkedWith]
_HEAD = '#include "generated/ops.h"\n#include "native/operators/kernel.h"\n'
_START, _END = "namespace sg::kernels {", "}  // namespace sg::kernels"
KEEP = "LEAK(keep(&sg::elsewhere::spare))"
UNTRUE = (*GATHER, *NAMED)


def nameless(scope: str = "namespace sg::elsewhere {", end: str = "}") -> str:
    """Return the source of gather, with other names for all its functions."""
    text = lookup().replace(_START, scope).replace(_END, end)
    for old, new in (
        ("gather", "spare"),
        ("index_select", "choose"),
        ("look_up", "find_rows"),
        ("constant_pad_nd", "surround"),
        ("repeat", "tile"),
        ("arange", "count_up"),
    ):
        text = re.sub(rf"\b{old}\(", f"{new}(", text)
    # gcc would inline the only call, and no bytes would be alike.
    return text.replace("Status find_rows(", "[[gnu::noinline]] Status find_rows(", 1)


def declared(words: str) -> str:
    """Return nameless() with words before gather's new definition."""
    return nameless().replace("Result<Tensor> spare(", f"{words} Result<Tensor> spare(")


def leak_of(name: str, text: str, *options: str) -> Make:
    """Make a leak from one source; options may be for clang alone, with `clang:` before them."""

    def make(bench: LeakBench) -> LinkedWith:
        chosen = [word.removeprefix("clang:") for word in options]
        if not bench.is_clang:
            chosen = [word for word in options if not word.startswith("clang:")]
        return LinkedWith((bench.compile(name, text, *chosen),))

    return make


def by_format(name: str, elf: str, macho: str, *options: str) -> Make:
    """Make a leak from a source for each format."""

    def make(bench: LeakBench) -> LinkedWith:
        return LinkedWith((bench.compile(name, macho if bench.is_macho else elf, *options),))

    return make


def _stamped(text: str) -> str:
    """Return three copies of the kernel, as a macro makes them, in unnamed namespaces."""
    inner = text[text.index(_HEAD) + len(_HEAD) :]
    begin, end = "namespace sg { namespace { namespace row", "}}}"
    copies = "".join(
        f"{begin}{n} {{{inner.split('elsewhere {', 1)[1].rstrip()[:-1]}{end}\n" for n in range(3)
    )
    name = "spare" if "spare(" in text else "gather"
    return f"{_HEAD}{copies}LEAK(keep(&sg::row0::{name}), keep(&sg::row1::{name}))"


def _always_inlined(text: str, name: str = "gather") -> str:
    """Return the kernel, inlined into each caller, so that it has no symbol."""
    arguments = "Context&, Tensor, int64_t, Tensor, bool"
    head = f"namespace sg::elsewhere {{ [[gnu::always_inline]] inline Result<Tensor> {name}"
    return f"{_HEAD}{head}({arguments}); }}\n{text}"


_CALL = (
    "auto* c = (sg::Context*)argv[1]; auto* t = (sg::Tensor*)argv[2];"
    " auto r = sg::elsewhere::{name}(*c, t[0], argc, t[1], true); keep(&r);"
)
_CALL_GATHER = _CALL.replace("{name}", "gather")
_COROUTINE = (
    "#include <coroutine>\n"
    + _always_inlined(elsewhere())
    + """
struct Task {
  struct promise_type {
    static char place[4096];
    static void* operator new(__SIZE_TYPE__) { return place; }
    static void operator delete(void*) {}
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;
};
char Task::promise_type::place[4096];
static Task work(int argc, char** argv) {
  co_await std::suspend_always{};
  """
    + _CALL_GATHER
    + "\n}\nLEAK(work(argc, argv).handle.resume())"
)
_THUNK = (
    nameless()
    + """namespace sg::elsewhere {
struct First { virtual long first() { return 1; } long number; };
struct Second { virtual Result<Tensor> run(Context&, Tensor, int64_t, Tensor) = 0; };
struct Both : First, Second {
  Result<Tensor> run(Context& c, Tensor t, int64_t d, Tensor i) override {
    return spare(c, t, d, i, true);
  }
};
Both both; }
LEAK(keep(&sg::elsewhere::both))"""
)


def _lambda_at_start() -> str:
    """Return a program that runs the kernel as a lambda in an initializer."""
    text = elsewhere("Result<Tensor> gather_(")
    head, _, rest = text.partition("Result<Tensor> gather_(")
    body, _, after = rest.partition("\n}\n")
    body = body.replace(") {", ") -> Result<Tensor> {", 1)
    given = 'static void** given() { void** p; asm volatile("" : "=r"(p)); return p; }\n'
    call = "(*(Context*)p, *(Tensor*)p, 1, *(Tensor*)p, true).ok()"
    called = f"p[0] != nullptr && [](\n{body}\n}}{call}"
    lambda_ = f"bool made = [] {{ void** p = given(); return {called}; }}();\n"
    return f"{head}{given}extern bool made;\n{lambda_}{after}LEAK(keep(&sg::elsewhere::made))"


def _unity(bench: LeakBench) -> LinkedWith:
    """Compile three families as one file, all code in one section."""
    text = _HEAD
    for number, file in enumerate(("lookup.cpp", "recurrent.cpp", "softmax.cpp")):
        each = (KERNELS / file).read_text().replace(_START, f"namespace sg::part{number} {{")
        text += each
    text += "LEAK(keep(&sg::part0::gather))"
    options = ("-fno-function-sections", "-fno-data-sections")
    return LinkedWith((bench.compile("unity", text, *options),))


def _without_types(bench: LeakBench) -> LinkedWith:
    """Give the kernel's symbol neither type nor size."""

    def edit(text: str) -> str:
        return re.sub(r"^\s*\.(?:size|type)\s.*$", "", text, flags=re.MULTILINE)

    return LinkedWith((bench.assemble("without_types", nameless() + KEEP, edit),))


def _without_symbols(bench: LeakBench) -> LinkedWith:
    """Replace the kernel's symbol by a label, which the symbol table lacks."""
    local = "L" if bench.is_macho else ".L"

    def edit(text: str) -> str:
        lines = [
            line
            for line in text.splitlines()
            if not re.match(r"\s*\.(size|type|globl|hidden|private_extern|weak)\s.*elsewhere", line)
        ]
        symbol = rf"(?<![\w.]){bench.under('_ZN2sg9elsewhere')}(\w+)"
        return re.sub(rf"(?<!\.text\.){symbol}", rf"{local}own\1", "\n".join(lines)) + "\n"

    return LinkedWith((bench.assemble("without_symbols", nameless() + KEEP, edit),))


def _as_assembly(bench: LeakBench) -> LinkedWith:
    """Inline the kernel; its debug information has only the lines of the assembly file."""
    text = _always_inlined(elsewhere()) + called("elsewhere")
    return LinkedWith((bench.assemble("as_assembly", text, lambda text: text, "-g0"),))


def _split_debug(bench: LeakBench) -> LinkedWith:
    """Inline the kernel, and delete the .dwo file with its debug information."""
    text = _always_inlined(elsewhere()) + called("elsewhere")
    options = ["-gsplit-dwarf"] + (["-fno-split-dwarf-inlining"] if bench.is_clang else [])
    made = bench.compile("split_debug", text, *options, "-fno-lto")
    made.with_suffix(".dwo").unlink()
    return LinkedWith((made,))


_INLINED = _always_inlined(elsewhere()) + called("elsewhere")


def _early() -> str:
    """Return a local kernel that mostly returns at once, and two callers."""
    text = elsewhere("static Result<Tensor> gather(")
    at = text.index("static Result<Tensor> gather(")
    body = text[at:].replace("bool) {", "bool now) {\n  if (!now) return self;", 1)
    text = text[:at] + body
    text += "namespace sg::elsewhere { Result<Tensor> one(Context& c, Tensor t, bool now)"
    text += " { return gather(c, t, 3, t, now); }\n"
    text += "Result<Tensor> two(Context& c, Tensor t, bool now) { return gather(c, t, 5, t, now);"
    return text + " } }\nLEAK(keep(&sg::elsewhere::one), keep(&sg::elsewhere::two))"


def _constant() -> str:
    """Return a local kernel whose callers all pass the same arguments."""
    text = elsewhere("[[gnu::noinline]] static Result<Tensor> gather(")
    text += "namespace sg::elsewhere { Result<Tensor> one(Context& c, Tensor t)"
    return text + " { return gather(c, t, 0, t, true); } }\nLEAK(keep(&sg::elsewhere::one))"


def _scoped(scope: str, use: str) -> str:
    """Return the kernel as a member of a scope; only the scope has its name."""
    text = nameless()
    at = text.index("Result<Tensor> spare(")
    end = text.index("\n}\n", at) + 3
    return text[:at] + scope.replace("BODY", text[at:end]) + text[end:] + use


_FUNCTOR = _scoped(
    "struct gather { BODY };",
    "LEAK(auto* c = (sg::Context*)argv[1]; auto* t = (sg::Tensor*)argv[2];"
    " auto r = sg::elsewhere::gather{}(*c, t[0], argc, t[1], true); keep(&r))",
).replace("Result<Tensor> spare(", "[[gnu::noinline]] Result<Tensor> operator()(")


def _lambda_of_kernel() -> str:
    """Return a function with the kernel's name; only a lambda in it stays in the image."""
    text = nameless()
    at = text.index("Result<Tensor> spare(")
    end = text.index("\n}\n", at) + 3
    body = text[at:end].replace("Result<Tensor> spare(", "[](", 1)
    body = body.replace(") {", ") -> Result<Tensor> {", 1).rstrip()
    text = f"{text[:at]}inline auto gather() {{ return {body}; }}\n{text[end:]}"
    return text + "LEAK(keep(+sg::elsewhere::gather()))"


_THREAD = nameless() + (
    "struct Lazy { Lazy() { keep(&sg::elsewhere::spare); } int number = 1; };\n"
    "extern thread_local Lazy lazy; thread_local Lazy lazy;\nLEAK(keep(&lazy))"
)


def _thread_local(bench: LeakBench) -> LinkedWith:
    hidden = ("-Wl,-U,__tlv_bootstrap",) if bench.is_macho else ()
    return LinkedWith((bench.compile("thread_local", _THREAD),), hidden)


_TABLE = nameless() + (
    "using F = decltype(&sg::elsewhere::spare);\nextern const F table[];\n"
    "const F table[] = {&sg::elsewhere::spare, nullptr};\nLEAK(keep(&table[argc]))"
)
_COLD = _always_inlined(elsewhere()) + (
    '[[gnu::cold, gnu::noinline]] void mark();\nvoid mark() { asm volatile(""); }\n'
    'extern "C" void leaked(int argc, char** argv) { if (__builtin_expect(argc == 77, 0)) {'
    " mark(); CALL } }"
).replace("CALL", _CALL_GATHER)

LEAKS = (
    Leak("stamped_copies", leak_of("stamped_copies", _stamped(nameless())), UNTRUE),
    Leak(
        "machine_outliner",
        leak_of(
            "outlined",
            _stamped(elsewhere().replace(_END, "}")),
            "clang:-mllvm",
            "clang:-enable-machine-outliner=always",
        ),
        UNTRUE,
    ),
    Leak("hot_cold_split", leak_of("cold", _COLD, "clang:-mllvm", "clang:-hot-cold-split"), GATHER),
    Leak(
        "partial_inlining",
        leak_of("partial", _early(), "-O3", "clang:-mllvm", "clang:-enable-partial-inlining"),
        GATHER,
    ),
    Leak("constants_propagated", leak_of("constants", _constant(), "-O3"), GATHER),
    Leak("coroutine", leak_of("coroutine", _COROUTINE), GATHER),
    Leak("thread_local_initializer", _thread_local, UNTRUE),
    Leak("lambda_at_start", leak_of("at_start", _lambda_at_start()), (*UNTRUE, "before main")),
    Leak("unity_build", _unity, (*UNTRUE, "lstm")),
    Leak("symbols_without_types", _without_types, UNTRUE),
    Leak("code_without_symbols", _without_symbols, UNTRUE),
    Leak("assembled_with_lines", _as_assembly, (*GATHER, "debug information")),
    Leak("split_debug_information", _split_debug, (*GATHER, "debug information"), (ELF,)),
    Leak("compressed_debug_information", leak_of("gz", _INLINED, "-gz"), GATHER, (ELF,)),
    Leak("debug_information_of_dwarf_2", leak_of("dwarf2", _INLINED, "-gdwarf-2"), GATHER),
    Leak("debug_information_of_64_bits", leak_of("dwarf64", _INLINED, "-gdwarf64"), GATHER, (ELF,)),
    Leak("function_object", leak_of("functor", _FUNCTOR, "-O3"), GATHER),
    Leak("lambda_of_kernel", leak_of("lambda_of", _lambda_of_kernel(), "-O3"), GATHER),
    Leak("table_of_functions", leak_of("table", _TABLE), UNTRUE),
    Leak("thunk", leak_of("thunk", _THUNK), UNTRUE),
    Leak(
        "patchable_entry",
        leak_of("patchable", nameless() + KEEP, "-fpatchable-function-entry=16"),
        UNTRUE,
    ),
    Leak(
        "branch_protection",
        lambda bench: leak_of(
            "protected",
            nameless() + KEEP,
            "-mbranch-protection=standard" if bench.is_macho else "-fcf-protection=full",
        )(bench),
        UNTRUE,
    ),
    Leak(
        "named_section",
        by_format(
            "named_section",
            declared('[[gnu::section(".text.hot.app")]]') + KEEP,
            declared('[[gnu::section("__TEXT,__app,regular,pure_instructions")]]') + KEEP,
        ),
        UNTRUE,
    ),
    Leak(
        "own_segment",
        by_format(
            "own_segment",
            declared('[[gnu::section("app_code")]]') + KEEP,
            declared('[[gnu::section("__APP,__code,regular,pure_instructions")]]') + KEEP,
        ),
        UNTRUE,
    ),
    Leak(
        "linkonce",
        leak_of("linkonce", declared('[[gnu::section(".gnu.linkonce.t.app")]]') + KEEP),
        UNTRUE,
        (ELF,),
    ),
)
