"""Leaks that were added after the verifier was finished."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.support.leaks.leak_bench import KERNELS, LeakBench, LinkedWith, run
from tests.support.leaks.leak_bytes import CODE, NAMED
from tests.support.leaks.leak_kinds import (
    ELF,
    GATHER,
    Leak,
    elsewhere,
    lookup,
    source,
    unpacked_kernels,
)


def _values(code: bytes) -> str:
    return ",".join(map(str, code))


def _wide_words(bench: LeakBench) -> LinkedWith:
    """Store the bytes as 64-bit numbers in a writable table, at an odd address."""
    code = bench.machine_code(CODE)
    words = [code[i : i + 8].ljust(8, b"\0") for i in range(0, len(code), 8)]
    numbers = ",".join(f"{int.from_bytes(word, 'little')}ull" for word in words)
    text = "struct [[gnu::packed]] Odd { char first; unsigned long long words[COUNT]; };\n"
    text += "extern Odd odd; Odd odd = {1, {NUMBERS}};\nLEAK(keep(&odd))"
    text = text.replace("COUNT", str(len(words))).replace("NUMBERS", numbers)
    return LinkedWith((bench.compile("wide_words", text),))


def _eight_pieces(bench: LeakBench) -> LinkedWith:
    """Store the kernel in pieces of 48 bytes, each in a separate variable among other bytes."""
    code = bench.machine_code(CODE)
    text = ""
    names = []
    for number, start in enumerate(range(0, len(code) - 48, 48)):
        names.append(f"part{number}")
        part = b"\x5a" * 16 + code[start : start + 48] + b"\xa5" * 16
        text += f"extern const unsigned char {names[-1]}[];"
        text += f"const unsigned char {names[-1]}[] = {{{_values(part)}}};\n"
    text += f"LEAK({', '.join(f'keep({name})' for name in names)})"
    return LinkedWith((bench.compile("eight_pieces", text),))


def _as_string(bench: LeakBench) -> LinkedWith:
    """Store the bytes in a string literal, which linkers merge."""
    escaped = "".join(f"\\{byte:03o}" for byte in bench.machine_code(CODE))
    return LinkedWith((bench.compile("as_string", f'LEAK(keep("{escaped}"))'),))


def _patched_nops(bench: LeakBench) -> LinkedWith:
    """Change every hundredth byte, as in an edited copy."""
    code = bytearray(bench.machine_code(CODE))
    for i in range(50, len(code), 100):
        code[i] ^= 0xFF
    text = (
        f"extern const unsigned char edited[]; const unsigned char edited[] = {{{_values(code)}}};"
    )
    return LinkedWith((bench.compile("edited", text + "\nLEAK(keep(edited))"),))


def _other_kernel(file: str, kernel: str) -> Callable[[LeakBench], LinkedWith]:
    """Compile another family's source under another name."""

    def make(bench: LeakBench) -> LinkedWith:
        text = (KERNELS / file).read_text()
        text = text.replace("namespace sg::kernels {", "namespace sg::plain {")
        text = re.sub(rf"^(Result<.*>) {kernel}\(", r"\1 work(", text, flags=re.MULTILINE)
        return LinkedWith(
            (bench.compile(f"again_{kernel}", text + "LEAK(keep(&sg::plain::work))"),)
        )

    return make


def _lambda(bench: LeakBench) -> LinkedWith:
    """Make the kernel a lambda in a variable."""
    text = elsewhere("auto held = [](")
    head, _, rest = text.partition("auto held = [](")
    body, _, after = rest.partition("\n}\n")
    body = body.replace(") {", ") -> Result<Tensor> {", 1)
    text = f"{head}auto held = []({body}\n}};\n{after}"
    text += "LEAK(keep(+sg::elsewhere::held))"
    return LinkedWith((bench.compile("lambda", text),))


def _virtual(bench: LeakBench) -> LinkedWith:
    """Make the kernel a virtual function that only a vtable refers to."""
    text = elsewhere("Result<Tensor> work(")
    text += """namespace sg::elsewhere { struct Base {
  virtual Result<Tensor> run(Context& c, Tensor t, int64_t d, Tensor i) {
    return work(c, t, d, i, true); } };
  Base base; }
LEAK(keep(&sg::elsewhere::base))"""
    return LinkedWith((bench.compile("virtual", text),))


def _destructor(bench: LeakBench) -> LinkedWith:
    text = elsewhere("Result<Tensor> work(")
    text += "[[gnu::destructor]] static void late() { keep(&sg::elsewhere::work); }\nLEAK()"
    # Mach-O has no table of such functions, and the system stub lacks their registration function.
    hidden = ("-Wl,-U,___cxa_atexit",) if bench.is_macho else ()
    return LinkedWith((bench.compile("destructor", text),), hidden)


def _whole_archive(bench: LeakBench) -> LinkedWith:
    """Link the full build's kernels with a prefix on all names."""
    folder = unpacked_kernels(bench, "prefixed")
    made = folder / "lookup.cpp.o"
    own = bench.mangled("gather")
    prefixed = folder / "prefixed.obj"
    run("llvm-objcopy-19", f"--redefine-sym={own}=my_{own}", made, prefixed)
    text = f'extern "C" void my_{own}();\nLEAK(keep(&my_{own}))'
    caller = bench.compile("prefix", text)
    copy = bench.folder / "prefixed.o"
    copy.write_bytes(prefixed.read_bytes())
    return LinkedWith((caller, copy))


def _patched_image(bench: LeakBench) -> LinkedWith:
    """Let the linker fill gaps between functions with other code than padding."""
    text = 'asm(".text\\n.p2align 8, 0x41\\n.globl aligned\\naligned: ret\\n");\n'
    text += 'extern "C" void aligned();\nLEAK(keep(&aligned))'
    made = bench.compile("aligned", text)
    script = bench.folder / "fill.ld"
    content = ". = ALIGN(16); BYTE(0x41) LONG(0x12345678) LONG(0x9abcdef0)"
    script.write_text(f"SECTIONS {{ .gap : {{ {content} }} }} INSERT AFTER .text;\n")
    return LinkedWith((made,), (f"-Wl,-T,{script}",))


def _debug_of_other(bench: LeakBench) -> LinkedWith:
    """Compile with debug information that has only line tables."""
    head = '#include "native/operators/kernel.h"\nnamespace sg::kernels { [[gnu::always_inline]]'
    head += " inline Result<Tensor> gather(Context&, Tensor, int64_t, Tensor, bool); }\n"
    text = head + lookup().replace("look_up(", "my_rows(")
    text += (
        "LEAK(auto* c = (sg::Context*)argv[1]; auto* t = (sg::Tensor*)argv[2];"
        " auto r = sg::kernels::gather(*c, t[0], *argv[3], t[1], true); keep(&r))"
    )
    return LinkedWith((bench.compile("line_tables", text, "-g1"),))


LATER = (
    Leak("bytes_as_numbers", _wide_words, NAMED),
    Leak("bytes_in_eight_pieces", _eight_pieces, NAMED),
    Leak("bytes_in_string", _as_string, NAMED),
    Leak("edited_bytes", _patched_nops, NAMED),
    Leak("lstm_elsewhere", _other_kernel("recurrent.cpp", "lstm"), ("lstm", "machine code")),
    Leak("embedding_elsewhere", _other_kernel("copies.cpp", "embedding"), ("machine code",)),
    Leak("lambda_in_variable", _lambda, GATHER),
    Leak("virtual_function", _virtual, GATHER),
    Leak("destructor", _destructor, (*GATHER, "late")),
    Leak("prefixed_symbol", _whole_archive, GATHER, (ELF,)),
    Leak("gap_filled_by_script", _patched_image, ("does not explain", "fill.ld"), (ELF,)),
    Leak("line_tables_alone", _debug_of_other, (*GATHER, "debug information")),
    Leak(
        "name_in_char_array",
        source(
            "char_array",
            "extern char name[];\nchar name[] = {'x', ':', "
            "'a','t','e','n',':',':','g','e','l','u', 0};"
            "\nLEAK(keep(name))",
        ),
        ("aten::gelu",),
    ),
    Leak(
        "name_without_end",
        source(
            "fixed_names",
            "struct Row { char name[10]; short code; };\nextern const Row rows[];\n"
            "const Row rows[] = {{{'a','t','e','n',':',':','g','e','l','u'}, 17}};\n"
            "LEAK(keep(rows))",
        ),
        ("aten::gelu",),
    ),
)
