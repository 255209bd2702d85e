"""Leaks by machine code: a deselected kernel's bytes in all kinds of sections."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.leaks.leak_bench import LeakBench, LinkedWith
from tests.support.leaks.leak_kinds import ELF, MACHO, Leak

CODE = "gather"
NAMED = ("gather", "index_select", "does not explain", "machine code")


def _directive(code: bytes) -> str:
    return ".byte " + ",".join(map(str, code))


def blob(
    name: str, section: str, mach_section: str, text: str = "LEAK(keep(hidden_bytes))"
) -> Callable[[LeakBench], LinkedWith]:
    """Put a kernel's bytes into a section."""

    def make(bench: LeakBench) -> LinkedWith:
        label = "_hidden_bytes" if bench.is_macho else "hidden_bytes"
        where = mach_section if bench.is_macho else section
        back = ".text" if bench.is_macho else ".previous"
        code = _directive(bench.machine_code(CODE))
        lines = (f".section {where}", ".p2align 4", f".globl {label}", f"{label}:", code, back)
        assembly = "\\n".join(lines).replace('"', '\\"')
        head = f'asm("{assembly}");\nextern "C" const char hidden_bytes[];\n'
        return LinkedWith((bench.compile(name, head + text),))

    return make


def _inside_function(bench: LeakBench) -> LinkedWith:
    """Put the bytes into another function, which jumps over them."""
    jump = "b" if bench.is_macho else "jmp"
    code = _directive(bench.machine_code(CODE))
    text = "[[gnu::noinline]] int harmless(int a) {"
    text += f' asm volatile("{jump} 1f\\n{code}\\n1:"); return a + 1; }}\nLEAK(harmless(argc))'
    return LinkedWith((bench.compile("inside_function", text),))


def _two_halves(bench: LeakBench) -> LinkedWith:
    code = bench.machine_code(CODE)
    half = len(code) // 2 & ~3
    return LinkedWith(
        (
            bench.compile(
                "two_halves",
                "extern const unsigned char one[], two[];\n"
                f"const unsigned char one[] = {{{','.join(map(str, code[:half]))}}};\n"
                f"const unsigned char two[] = {{{','.join(map(str, code[half:]))}}};\n"
                "LEAK(keep(one), keep(two))",
            ),
        )
    )


def _array(name: str, qualifier: str) -> Callable[[LeakBench], LinkedWith]:
    def make(bench: LeakBench) -> LinkedWith:
        values = ",".join(map(str, bench.machine_code(CODE)))
        text = f"{qualifier} unsigned char bytes[] = {{{values}}};\nLEAK(keep(&bytes[argc]))"
        return LinkedWith((bench.compile(name, text),))

    return make


def _fragment(section: str) -> Callable[[LeakBench], LinkedWith]:
    """Put the bytes into .init or .fini, which runs at start-up or exit."""

    def make(bench: LeakBench) -> LinkedWith:
        text = (
            f'asm(".section {section},\\"ax\\",@progbits\\nnop\\nnop\\nxorl %eax, %eax\\n.text");'
        )
        return LinkedWith((bench.compile(f"fragment_{section[1:]}", text + "\nLEAK()"),))

    return make


def _large_fragment(bench: LeakBench) -> LinkedWith:
    code = _directive(bench.machine_code(CODE))
    text = f'asm(".section .init,\\"ax\\",@progbits\\njmp 1f\\n{code}\\n1:\\n.text");\nLEAK()'
    return LinkedWith((bench.compile("large_fragment", text),))


def _binary(bench: LeakBench) -> LinkedWith:
    """Let the linker put a file of bytes into .data."""
    path = bench.folder / "code.bin"
    path.write_bytes(bench.machine_code(CODE))
    text = 'extern "C" const char _binary_code_bin_start[];\nLEAK(keep(_binary_code_bin_start))'
    made = bench.compile("binary", text)
    # The linker names its symbols after the given file name.
    own = "elf" if "lld" in bench.build.toolchain else "elf64-x86-64"
    words = ("-Wl,-b,binary", "code.bin", f"-Wl,-b,{own}")
    (bench.folder / "linked_binary").mkdir(exist_ok=True)
    (bench.folder / "linked_binary" / "code.bin").write_bytes(bench.machine_code(CODE))
    return LinkedWith((made,), words)


def _by_script(place: str, where: str) -> Callable[[LeakBench], LinkedWith]:
    """Let a linker script write the bytes."""

    def make(bench: LeakBench) -> LinkedWith:
        code = bench.machine_code(CODE)
        content = " ".join(f"BYTE({byte})" for byte in code)
        script = bench.folder / f"{place[1:]}.ld"
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(f"SECTIONS {{ {place} : {{ {content} }} }} INSERT AFTER {where};\n")
        made = bench.compile(f"script_{place[1:]}", "LEAK()")
        return LinkedWith((made,), (f"-Wl,-T,{script}",))

    return make


def _sectcreate(bench: LeakBench) -> LinkedWith:
    path = bench.folder / "code.bin"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bench.machine_code(CODE))
    made = bench.compile("sectcreate", "LEAK()")
    return LinkedWith((made,), (f"-Wl,-sectcreate,__TEXT,__extra,{path}",))


LEAKS = (
    Leak("bytes_in_rodata", blob("in_rodata", ".rodata.x", "__TEXT,__const"), NAMED),
    Leak("bytes_in_data", blob("in_data", ".data.x", "__DATA,__data"), NAMED),
    Leak("bytes_in_data_section", blob("in_own", 'fonts,"a"', "__TEXT,__fonts"), NAMED),
    Leak(
        "bytes_in_executable_section",
        blob("in_code", '.secret,"ax"', "__TEXT,__secret,regular,pure_instructions"),
        NAMED,
    ),
    Leak("bytes_in_text", blob("in_text", '.text.x,"ax"', "__TEXT,__text"), NAMED),
    Leak("bytes_in_note", blob("in_note", '.note.x,"a",@note', ""), NAMED, (ELF,)),
    Leak("bytes_in_relro", blob("in_relro", '.data.rel.ro.x,"aw"', "__DATA,__const"), NAMED),
    Leak("bytes_in_tls", _array("in_tls", "thread_local"), NAMED, (ELF,)),
    Leak("bytes_in_exception_table", blob("lsda", '.gcc_except_table.x,"a"', ""), NAMED, (ELF,)),
    Leak("bytes_in_array", _array("in_array", "static const"), NAMED),
    Leak("bytes_in_function", _inside_function, NAMED),
    Leak("bytes_in_two_halves", _two_halves, NAMED),
    Leak("fragment_of_init", _fragment(".init"), (".init",), (ELF,)),
    Leak("fragment_of_fini", _fragment(".fini"), (".fini",), (ELF,)),
    Leak("kernel_in_init", _large_fragment, (".init", *NAMED), (ELF,)),
    Leak("linked_binary", _binary, NAMED, (ELF,)),
    Leak("script_bytes_in_data", _by_script(".extra", ".rodata"), NAMED, (ELF,)),
    Leak("script_bytes_in_code", _by_script(".moretext", ".text"), NAMED, (ELF,)),
    Leak("created_section", _sectcreate, NAMED, (MACHO,)),
)
