"""Leaks whose names are parts of longer texts, or are written as other languages write them."""

from __future__ import annotations

from tests.support.leaks.leak_entries import CODE, RUNTIME, TYPES
from tests.support.leaks.leak_formal import _BEFORE, _BEHIND, _BODY, _terse
from tests.support.leaks.leak_kinds import GATHER, Leak, source

_VIEW = "#include <string_view>\n"
_TAIL = 'static const char text[] = "xaten::gelu(tz)t";\n'
_INSIDE = (
    'static const char text[] = "xaten::gelu_y", other[] = "another text";\n'
    "LEAK(keep(argv[2] ? (const void*)other : (const void*)(text + 1)))"
)
_PARAMETERS = "Context& context, Tensor self, int64_t dim, Tensor index, bool"
_CALL = "auto* c = (sg::Context*)argv[1]; auto* t = (sg::Tensor*)argv[2]; auto r = "

# Names that are parts of texts.
_ENTRY = (
    RUNTIME + CODE + TYPES + _TAIL + "extern Entry entry; Entry entry = {serve, text + 1};\n"
    "LEAK(keep(&entry))"
)
_MERGED = (
    RUNTIME + CODE + "template <typename T> void store(T* v) {"
    ' asm volatile("" : : "r"(v) : "memory"); }\n'
    'LEAK(const char* const two[] = {"xaten::gelu(tz)t", "aten::gelu(tz)t"}; store(&two);'
    " sg::Operator made{two[1], serve}; store(&made))"
)
_VIEWED = (
    _VIEW + RUNTIME + CODE + "struct Named { std::string_view name; sg::BoxedKernel code; };\n"
    'static const char text[] = "xaten::geluy";\n'
    "extern const Named entry; const Named entry = {{text + 1, 10}, serve};\nLEAK(keep(&entry))"
)
_CLASS = (
    _VIEW + 'static const char text[] = "xLinearOpContexty";\n'
    "extern const std::string_view entry; const std::string_view entry = {text + 1, 15};\n"
    "LEAK(keep(&entry))"
)


def _kernel(head: str, behind: str, call: str) -> str:
    """Return the source of gather under another head, and what ends that."""
    return f"{_BEFORE}{head}{_BODY}{behind}\n{_BEHIND}LEAK({call})"


def _symbol_leak(name: str, file: str, symbol: str) -> Leak:
    """Return a leak that has the code of gather under a symbol of another language or compiler."""
    head = f'[[gnu::noinline]] Result<Tensor> spare({_PARAMETERS}) asm("{symbol}");\n'
    head += f"Result<Tensor> spare({_PARAMETERS}) "
    text = _kernel(head, "", "keep(&sg::elsewhere::spare)")
    return Leak(name, _terse(file, text, "-O3", "-fno-lto"), GATHER)


_LITERAL = _kernel(
    "struct Given { Context* context; Tensor* tensors; }; Given given;\n"
    '[[gnu::noinline]] Result<Tensor> operator""_gather(unsigned long long dim) {'
    " Context& context = *given.context; Tensor self = given.tensors[0];"
    " Tensor index = given.tensors[1]; return [&]() -> Result<Tensor> ",
    "(); }",
    "using namespace sg::elsewhere; given = {(sg::Context*)argv[1], (sg::Tensor*)argv[2]};"
    " auto r = 3_gather; keep(&r)",
)
_FRIEND = _kernel(
    f"struct Holder {{ int n; friend Result<Tensor> gather(const Holder&, {_PARAMETERS}) ",
    "};",
    f"sg::elsewhere::Holder h{{argc}}; {_CALL}gather(h, *c, t[0], argc, t[1], true); keep(&r)",
)
_LOCAL = _kernel(
    f"[[gnu::noinline]] Result<Tensor> outer({_PARAMETERS}) {{ struct Inner {{"
    f" [[gnu::noinline]] static Result<Tensor> gather({_PARAMETERS}) ",
    "}; return Inner::gather(context, self, dim, index, true); }",
    f"{_CALL}sg::elsewhere::outer(*c, t[0], argc, t[1], true); keep(&r)",
)
_CONSTRAINED = _kernel(
    "template <typename T> requires (sizeof(T) == 4)"
    f" [[gnu::noinline]] Result<Tensor> gather(T, {_PARAMETERS}) ",
    "",
    f"{_CALL}sg::elsewhere::gather(argc, *c, t[0], argc, t[1], true); keep(&r)",
)
# A mangled name has the first parameter or the operator directly behind the function or class.
_GLOBAL = _kernel(
    "}\nusing namespace sg; using namespace sg::elsewhere;\n[[gnu::noinline]] static"
    " Result<Tensor> gather(bool, int64_t dim, Context& context, Tensor self, Tensor index) ",
    "\nnamespace sg::elsewhere {",
    "keep(&::gather)",
)
_SUBSCRIPT = _kernel(
    "struct gather { Context& context; Tensor self; int64_t dim;\n"
    " [[gnu::noinline]] Result<Tensor> operator[](Tensor index) ",
    "};",
    f"{_CALL}sg::elsewhere::gather{{*c, t[0], argc}}[t[1]]; keep(&r)",
)
# A class or namespace has the kernel's name, and the function another one.
_NAMESPACE = _kernel(
    f"namespace gather {{ [[gnu::noinline]] Result<Tensor> run({_PARAMETERS}) ",
    "}",
    f"{_CALL}sg::elsewhere::gather::run(*c, t[0], argc, t[1], true); keep(&r)",
)
_METHOD = _kernel(
    "struct gather { template <typename T> struct Rows { T wide; [[gnu::noinline]]"
    f" Result<Tensor> apply({_PARAMETERS}) ",
    "}; };",
    f"{_CALL}sg::elsewhere::gather::Rows<int>{{argc}}.apply(*c, t[0], argc, t[1], true); keep(&r)",
)
_ARGUMENT = _kernel(
    "struct gather {}; template <typename T> [[gnu::noinline]] Result<Tensor>"
    f" run({_PARAMETERS}) ",
    "",
    f"{_CALL}sg::elsewhere::run<sg::elsewhere::gather>(*c, t[0], argc, t[1], true); keep(&r)",
)
# The symbol is another name than that of the source, which debug information alone has.
_LABELLED = _kernel(
    f'[[gnu::noinline]] Result<Tensor> gather({_PARAMETERS}) asm("plain_rows");\n'
    f"Result<Tensor> gather({_PARAMETERS}) ",
    "",
    "keep(&sg::elsewhere::gather)",
)
_ADDED = "add_elements<double>(long n, const char* data, long stride, sg::Accumulator& total)"
_LABELLED_BODY = f"""#include "native/operators/reduce.h"
template <typename T> void add_elements(long, const char*, long, sg::Accumulator&);
template <> void {_ADDED} asm("row8");
template <> void {_ADDED} {{
  for (; n > 0; --n, data += stride) total.number += *reinterpret_cast<const double*>(data);
}}
LEAK(keep(&add_elements<double>))"""

NAMES = (
    Leak("name_in_the_middle", source("middle", _ENTRY), ("aten::gelu",)),
    Leak("merged_tail", source("tail", _MERGED), ("aten::gelu",)),
    Leak("string_view_in_a_text", source("viewed", _VIEWED), ("aten::gelu",)),
    Leak("class_as_string_view", source("class_view", _CLASS), ("LinearOpContext",)),
    Leak("code_leads_into_a_text", source("inside", _INSIDE), ("aten::gelu",)),
    Leak("literal_operator", _terse("literal", _LITERAL, "-O3"), GATHER),
    Leak("hidden_friend", _terse("friend", _FRIEND, "-O3"), GATHER),
    Leak("member_of_local_class", _terse("local", _LOCAL, "-O3"), GATHER),
    Leak("constrained_template", _terse("constrained", _CONSTRAINED, "-O3"), GATHER),
    Leak("global_function", _terse("global", _GLOBAL, "-O3"), GATHER),
    Leak("subscript_operator", _terse("subscript", _SUBSCRIPT, "-O3"), GATHER),
    _symbol_leak("name_of_rust", "rust", "_ZN3app6gather17h0123456789abcdefE"),
    _symbol_leak("name_with_a_dollar", "dollar", "gather$variant"),
    _symbol_leak("name_of_another_language", "dotted", "rows.gather"),
    _symbol_leak("member_of_a_modules_class", "module_class", "_ZNW4rows4Rows6gatherEv"),
    _symbol_leak("copy_for_vectors", "vectors", "_ZGVbN4v__ZN3app6gatherEi"),
    Leak("label_of_other_code", _terse("labelled", _LABELLED, "-O3"), GATHER),
    Leak("label_of_a_body", source("row8", _LABELLED_BODY, "-O3"), ("add_elements",)),
    Leak("function_in_a_namespace", _terse("scoped", _NAMESPACE, "-O3"), GATHER),
    Leak("template_with_the_name", _terse("argument", _ARGUMENT, "-O3"), GATHER),
    Leak("method_of_a_nested_class", _terse("method", _METHOD, "-O3"), GATHER),
)
