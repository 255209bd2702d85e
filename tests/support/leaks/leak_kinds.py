"""Ways to hide deselected code in a selective build: the types, and leaks by source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.support.leaks.leak_bench import KERNELS, LeakBench, LinkedWith, run

ELF, MACHO = "elf", "macho"


@dataclass(frozen=True)
class Leak:
    """A way to hide code.

    expects: words, one of which a finding must have; formats: image formats that support it
    with_lto: whether it can be made and decided with LTO, too
    """

    name: str
    make: Callable[[LeakBench], LinkedWith]
    expects: tuple[str, ...]
    formats: tuple[str, ...] = (ELF, MACHO)
    with_lto: bool = True

    def is_decided(self, form: str, lto: str) -> bool:
        """Return whether verification has to find it in an image of a build."""
        return form in self.formats and (self.with_lto or not lto)


def lookup() -> str:
    """Return the source of gather and index_select, which have no dtype switches."""
    return (KERNELS / "lookup.cpp").read_text()


def elsewhere(gather: str = "Result<Tensor> gather(") -> str:
    """Return the same source in another namespace. gather: the beginning of gather's definition."""
    text = lookup().replace("namespace sg::kernels {", "namespace sg::elsewhere {")
    return text.replace("Result<Tensor> gather(", gather)


def always_inlined(scope: str, text: str) -> str:
    """Return declarations that inline gather of a namespace into main()."""
    head = f'#include "native/operators/kernel.h"\nnamespace sg::{scope} {{ [[gnu::always_inline]]'
    head += " inline Result<Tensor> gather(Context&, Tensor, int64_t, Tensor, bool); }\n"
    return head + text + called(scope)


def unpacked_kernels(bench: LeakBench, name: str) -> Path:
    """Return a folder with the objects of the full build's kernels, with machine code."""
    inputs = bench.full.lto_inputs or bench.full.objects
    archive = next(path for path in inputs if path.name == "libsg_kernels.a")
    folder = bench.folder / name
    folder.mkdir(parents=True, exist_ok=True)
    if not list(folder.glob("*.o")):
        run("llvm-ar-19", "x", archive, folder=folder)
        for path in folder.glob("*.o") if bench.build.lto else ():
            bench.finish_lto(path)
    return folder


def source(name: str, text: str, *options: str) -> Callable[[LeakBench], LinkedWith]:
    """Make a leak from one source file."""
    return lambda bench: LinkedWith((bench.compile(name, text, *options),))


def called(scope: str) -> str:
    """Return a call of the namespace's kernel with arguments unknown to the compiler."""
    return (
        "LEAK(auto* c = (sg::Context*)argv[1]; auto* t = (sg::Tensor*)argv[2];"
        f" auto r = sg::{scope}::gather(*c, t[0], argc, t[1], true); keep(&r))"
    )


def _renamed_namespace(bench: LeakBench) -> LinkedWith:
    text = elsewhere()
    return LinkedWith(
        (bench.compile("renamed_namespace", text + "LEAK(keep(&sg::elsewhere::gather))"),)
    )


def _anonymous(bench: LeakBench) -> LinkedWith:
    text = lookup().replace("namespace sg::kernels {", "namespace sg { namespace {", 1)
    text = text.replace("}  // namespace sg::kernels", "} }")
    return LinkedWith((bench.compile("anonymous", text + "LEAK(keep(&sg::gather))"),))


def _local_in_kernels(bench: LeakBench) -> LinkedWith:
    """Keep the helper's name in an anonymous namespace, in another object."""
    text = lookup().replace("Result<Tensor> gather(", "Result<Tensor> my_gather(")
    text = text.replace("Result<Tensor> index_select(", "Result<Tensor> my_select(")
    text += "LEAK(keep(&sg::kernels::my_gather), keep(&sg::kernels::my_select))"
    return LinkedWith((bench.compile("local_in_kernels", text),))


def _asm_label(bench: LeakBench) -> LinkedWith:
    head = '#include "native/operators/kernel.h"\nnamespace sg::kernels { Result<Tensor>'
    head += ' gather(Context&, Tensor, int64_t, Tensor, bool) asm("plain_helper"); }\n'
    return LinkedWith(
        (bench.compile("asm_label", head + lookup() + "LEAK(keep(&sg::kernels::gather))"),)
    )


def _template(bench: LeakBench) -> LinkedWith:
    text = elsewhere("template <int n> Result<Tensor> gather(")
    return LinkedWith((bench.compile("template", text + "LEAK(keep(&sg::elsewhere::gather<7>))"),))


def _member(bench: LeakBench) -> LinkedWith:
    text = elsewhere()
    declared = "Context& context, Tensor self, int64_t dim, Tensor index, bool"
    head = f"struct Helper {{ static Result<Tensor> f({declared}); }};\n"
    text = text.replace("Result<Tensor> gather(", f"{head}Result<Tensor> Helper::f(")
    return LinkedWith((bench.compile("member", text + "LEAK(keep(&sg::elsewhere::Helper::f))"),))


def _extern_c(bench: LeakBench) -> LinkedWith:
    text = elsewhere()
    text = text.replace("Result<Tensor> index_select(", "Result<Tensor> choose(")
    return LinkedWith((bench.compile("extern_c", text + "LEAK(keep(&sg::elsewhere::choose))"),))


def _inlined(bench: LeakBench) -> LinkedWith:
    """Inline the kernel into main(), with debug information."""
    text = always_inlined("kernels", lookup().replace("look_up(", "my_rows("))
    return LinkedWith((bench.compile("inlined", text),))


def _inlined_elsewhere(bench: LeakBench) -> LinkedWith:
    """Inline it under the name of another namespace."""
    text = always_inlined("elsewhere", elsewhere())
    return LinkedWith((bench.compile("inlined_elsewhere", text),))


def _inlined_local(bench: LeakBench, scope: str, template: str = "") -> LinkedWith:
    """Inline it as a local function, to which gcc gives no linkage name."""
    text = lookup().replace("namespace sg::kernels {", f"namespace sg::{scope} {{")
    body = text[text.index("Result<Tensor> gather(") :]
    body = body[: body.index("\n}\n") + 3]
    text = text.replace(body, f"namespace {{ {template} [[gnu::always_inline]] inline {body}}}\n")
    call = called(scope).replace("gather(", "gather<7>(" if template else "gather(")
    return LinkedWith((bench.compile(f"inlined_local_{scope}{len(template)}", text + call),))


def _without_debug(bench: LeakBench) -> LinkedWith:
    """Inline the kernel into main(), without debug information."""
    text = always_inlined("kernels", lookup().replace("look_up(", "my_rows("))
    return LinkedWith((bench.compile("without_debug", text, "-g0"),))


def _clone(bench: LeakBench) -> LinkedWith:
    """Give the kernel the symbol of a compiler's clone."""
    made = bench.compile_editable("clone", lookup() + "LEAK(keep(&sg::kernels::gather))")
    name = bench.mangled("gather")
    under = "_" if bench.is_macho else ""
    run(
        "llvm-objcopy-19",
        f"--redefine-sym={under}{name}={under}{name}.constprop.0",
        made,
    )
    return LinkedWith((made,))


def _renamed_symbol(bench: LeakBench) -> LinkedWith:
    made = bench.compile_editable("renamed_symbol", lookup() + "LEAK(keep(&sg::kernels::gather))")
    under = "_" if bench.is_macho else ""
    run("llvm-objcopy-19", f"--redefine-sym={under}{bench.mangled('gather')}={under}x1", made)
    if not bench.is_macho:
        section = f".text.{bench.mangled('gather')}"
        run("llvm-objcopy-19", f"--rename-section={section}=.text.x1", made)
    return LinkedWith((made,))


def _stripped_object(bench: LeakBench) -> LinkedWith:
    """Strip names and debug information; all code is in one section."""
    made = bench.compile_editable(
        "stripped_object",
        lookup() + "LEAK(keep(&sg::kernels::gather))",
        "-fno-function-sections",
        "-g0",
    )
    bundled = made.with_name("stripped_object_1.o")
    keep = "_leaked" if bench.is_macho else "leaked"
    run("llvm-objcopy-19", f"--keep-global-symbol={keep}", "--strip-unneeded", made, bundled)
    return LinkedWith((bundled,))


def _one_section(bench: LeakBench) -> LinkedWith:
    """Put deselected code beside live code in one section, with its own name."""
    return LinkedWith(
        (
            bench.compile(
                "one_section",
                lookup() + "LEAK(keep(&sg::kernels::index_select))",
                "-fno-function-sections",
            ),
        )
    )


def _ungathered(bench: LeakBench) -> LinkedWith:
    """Keep a kernel's helper in an anonymous namespace, under its own name."""
    text = elsewhere()
    text = text.replace("Status look_up(", "Status find_rows(").replace("look_up(", "find_rows(")
    return LinkedWith((bench.compile("helper", text + "LEAK(keep(&sg::elsewhere::find_rows))"),))


def _comdat(bench: LeakBench) -> LinkedWith:
    text = elsewhere("inline Result<Tensor> gather(")
    return LinkedWith((bench.compile("comdat", text + "LEAK(keep(&sg::elsewhere::gather))"),))


def _weak(bench: LeakBench) -> LinkedWith:
    text = elsewhere("[[gnu::weak]] Result<Tensor> spare(")
    return LinkedWith((bench.compile("weak", text + "LEAK(keep(&sg::elsewhere::spare))"),))


def _optimized_otherwise(bench: LeakBench) -> LinkedWith:
    """Compile with other options, so that only the name matches."""
    text = lookup().replace("namespace sg::kernels {", "namespace app {\nusing namespace sg;")
    text = text.replace("ops::", "sg::ops::")
    return LinkedWith((bench.compile("other_options", text + "LEAK(keep(&app::gather))", "-O3"),))


def _big_switch(bench: LeakBench) -> LinkedWith:
    """Keep a kernel with jump tables and constants: activations."""
    text = (KERNELS / "unary.cpp").read_text()
    text = text.replace("namespace sg::kernels {", "namespace sg::elsewhere {")
    return LinkedWith((bench.compile("unary_again", text + "LEAK(keep(&sg::elsewhere::gelu))"),))


def _class(bench: LeakBench) -> LinkedWith:
    """Call the deselected class without its registration."""
    text = '#include "native/prepacked/linear.h"\nLEAK(keep(&sg::create_linear_context))'
    return LinkedWith((bench.compile("class_made", text),))


def _used(bench: LeakBench) -> LinkedWith:
    kept = "[[gnu::used, gnu::retain]] Result<Tensor> gather("
    text = lookup().replace("Result<Tensor> gather(", kept)
    text = text.replace(", gnu::retain", "") if bench.is_macho else text
    return LinkedWith((bench.compile("used", text + "LEAK()"),))


def _c_function(bench: LeakBench) -> LinkedWith:
    """Give other code the bare name, which debug information of the full build has, too."""
    text = 'extern "C" [[gnu::noinline]] int gather(int* v, int n) {\n'
    text += "  int s = 1; while (n-- > 0) { s = s * 31 + v[n]; v[n] = s ^ n; } return s; }\n"
    return LinkedWith((bench.compile("c_function", text + "LEAK(keep(&gather))"),))


GATHER = ("gather", "look_up", "index_select")
BY_SOURCE = (
    Leak("renamed_namespace", _renamed_namespace, GATHER),
    Leak("anonymous_namespace", _anonymous, GATHER),
    Leak("other_name_in_kernels", _local_in_kernels, GATHER),
    Leak("asm_label", _asm_label, GATHER),
    Leak("template", _template, GATHER),
    Leak("member_function", _member, GATHER),
    Leak("other_function_name", _extern_c, GATHER),
    Leak("inlined", _inlined, GATHER),
    Leak("inlined_of_other_namespace", _inlined_elsewhere, GATHER),
    Leak("inlined_local", lambda bench: _inlined_local(bench, "kernels"), GATHER),
    Leak("inlined_local_elsewhere", lambda bench: _inlined_local(bench, "elsewhere"), GATHER),
    Leak(
        "inlined_local_template",
        lambda bench: _inlined_local(bench, "elsewhere", "template <int n>"),
        GATHER,
    ),
    Leak("without_debug_information", _without_debug, (*GATHER, "debug information")),
    Leak("clone_of_compiler", _clone, GATHER),
    Leak("symbol_renamed_by_objcopy", _renamed_symbol, GATHER),
    Leak("stripped_object", _stripped_object, (*GATHER, "debug information"), (ELF,)),
    Leak("one_section", _one_section, GATHER),
    Leak("local_helper", _ungathered, GATHER),
    Leak("comdat", _comdat, GATHER),
    Leak("weak", _weak, GATHER),
    Leak("other_options", _optimized_otherwise, GATHER),
    Leak("unary_in_other_namespace", _big_switch, ("gelu", "unary", "Gelu")),
    Leak("class_without_registration", _class, ("LinearOpContext", "linear_clamp", "linear")),
    Leak("used_attribute", _used, GATHER),
    Leak("c_function", _c_function, GATHER),
)
