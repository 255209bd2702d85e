"""Ways to hide growth of another project, invented after those of test_reads_elsewhere.

Each is a base, and a change that adds bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

CONFIG = """limits:
  load: {growth: 64 B}
  file: {growth: "max(1%, 512B)"}
apps:
  app:
    build: sh build.sh
    image: app
    ignore: '*.md'
"""
BUILD = "cc -Os $more -o app main.c\n"
MAIN = (
    "#ifndef SIZE\n#define SIZE 1\n#endif\nchar a[SIZE] = {1};\nint main(void) { return a[0]; }\n"
)
GROWN = MAIN.replace("SIZE 1", "SIZE 6000")
EMBED = (
    'asm(".data\\n.globl b\\nb: .incbin \\"data.txt\\"\\n.text");\n'
    "extern char b[];\nint main(void) { return b[0]; }\n"
)
LARGE = "x" * 6000
FAIL, INCONCLUSIVE, NOT_BUILT = 1, 3, 4
_PAD = "echo 'char pad[7000] = {1};' >> main.c\n"
_GREW = BUILD.replace("$more", "-DSIZE=6000")
_KEPT = CONFIG.replace(
    "build: sh build.sh", "setup: sh configure.sh\n    build: sh build.sh\n    clean: rm -f app"
)
_FLAGS = {"build.sh": "cc -Os $(cat flags) -o app main.c\n", "main.c": MAIN}
_CMAKE = "cmake_minimum_required(VERSION 3.20)\nproject(p C)\nadd_executable(app main.c)\n"
_BY_CMAKE = CONFIG.replace(
    "build: sh build.sh\n    image: app",
    "setup: cmake -S . -B build -G Ninja MORE\n    build: cmake --build build\n"
    "    image: build/app",
)
_PRESET = (
    '{"version": 3, "configurePresets": [{"name": "p", "generator": "Ninja", "binaryDir": "build",'
    ' "cacheVariables": {"CMAKE_C_FLAGS": "-DSIZE=%d"}}]}'
)
_LIBRARY = {
    "build.sh": f"{BUILD}cc -Os -fPIC -shared -o libf.so f.c\n",
    "main.c": MAIN,
    "f.c": "char f[9000] = {1};\n",
}
_USES = "int f(void);\nint main(void) { return f(); }\n"
_NEEDS = "cc -Os -fPIC -shared -o libf.so f.c\ncc -Os -o app main.c -L. -lf -Wl,-rpath,'$ORIGIN'\n"
# Sets the type of .data to NOBITS, so that strip removes its bytes from the file.
_NO_BITS = """import struct
data = bytearray(open("app", "rb").read())
(table,) = struct.unpack_from("<Q", data, 40)
count, names = struct.unpack_from("<HH", data, 60)
(strings,) = struct.unpack_from("<Q", data, table + 64 * names + 24)
for at in range(table, table + 64 * count, 64):
    (name,) = struct.unpack_from("<I", data, at)
    if data[strings + name :].startswith(b".data\\0"):
        struct.pack_into("<I", data, at + 4, 8)
open("app", "wb").write(data)
"""
_LOOPS = "int main(void) { return 0; }\n" + "".join(
    f"int f{i}(int* a, int n) {{\n  int s = 0;\n  for (int i = 0; i < n; i++) s += a[i] * {i};\n"
    "  return s;\n}\n"
    for i in range(3, 43)
)
_EVERY_C = 'for f in s/*; do cat "./$f"; done > all.c; cc -Os -o app all.c\n'


@dataclass(frozen=True, slots=True)
class LaterTrick:
    """Files of the base and of the change.

    base, change: by path; a path may be bytes; None removes the file
    links:        symbolic links of the base, and those of the change
    config, then: sizeguard.yaml of the base, and of the change if it differs
    codes:        exit codes of a gate that sees it
    """

    base: Mapping[str | bytes, str]
    change: Mapping[str | bytes, str | None] = field(default_factory=dict)
    links: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
    config: str = CONFIG
    then: str = ""
    codes: tuple[int, ...] = (FAIL, INCONCLUSIVE)


def _by_option(option: str, small: str, large: str) -> LaterTrick:
    """Return a growth by a file that an option of the compiler names, and `ignore`, too."""
    build = f"cc -Os {option} -o app main.c\n"
    return LaterTrick({"build.sh": build, "main.c": MAIN, "NOTES.md": small}, {"NOTES.md": large})


def _by_cmake(more: str, files: Mapping[str, str], change: Mapping[str, str]) -> LaterTrick:
    base = {"CMakeLists.txt": _CMAKE, "main.c": MAIN, **files}
    return LaterTrick({**base}, {**change}, config=_BY_CMAKE.replace("MORE", more))


def _by_name(name: bytes) -> LaterTrick:
    """Return a growth of an ignored file with an odd name."""
    config = CONFIG.replace("'*.md'", "['*.md', 's/*']")
    files: dict[str | bytes, str] = {"build.sh": _EVERY_C, b"s/" + name: MAIN}
    return LaterTrick(files, {b"s/" + name: GROWN}, config=config)


_NAMES = {
    "a space": b"a b.c", "a newline": b"a\nb.c", "quotes": b"a\"'b.c", "no UTF-8": b"a\xe9b.c",
    "a leading dash": b"-a.c", "a backslash": b"a\\nb.c", "a direction": b"a\xe2\x80\xae.c",
    "a tab": b"a\tb.c", "a trailing space": b"a.c ", "a pattern": b"[*?].c", "magic": b":!a.c",
}  # fmt: skip

TRICKS: Mapping[str, LaterTrick] = {
    "a setup script of a kept worktree": LaterTrick(
        {**_FLAGS, "configure.sh": "echo -DSIZE=1 > flags\n"},
        {"configure.sh": "echo -DSIZE=6000 > flags\n"},
        config=_KEPT,
    ),
    "a file that the setup of a kept worktree reads": LaterTrick(
        {**_FLAGS, "configure.sh": "cp flags.in flags\n", "flags.in": "-DSIZE=1\n"},
        {"flags.in": "-DSIZE=6000\n"},
        config=_KEPT,
    ),
    "a file that the setup of a kept worktree looks for": LaterTrick(
        {**_FLAGS, "configure.sh": "if [ -f MORE ]; then echo -DSIZE=6000; fi > flags\n"},
        {"MORE": "1\n"},
        config=_KEPT,
    ),
    "a source of the base that the build pads": LaterTrick(
        {"build.sh": BUILD, "main.c": MAIN}, {"build.sh": _GREW + _PAD}
    ),
    "a padded source that git skips": LaterTrick(
        {"build.sh": BUILD, "main.c": MAIN},
        {"build.sh": f"{_GREW}{_PAD}git update-index --skip-worktree main.c\n"},
    ),
    "a padded source that git takes as unchanged": LaterTrick(
        {"build.sh": BUILD, "main.c": MAIN},
        {"build.sh": f"{_GREW}{_PAD}git update-index --assume-unchanged main.c\n"},
    ),
    "a library that leaves the terms while commands change": LaterTrick(
        {**_LIBRARY},
        {"main.c": GROWN},
        config=f"{CONFIG}    also: libf.so\n",
        then=CONFIG.replace("sh build.sh", "sh build.sh; true"),
    ),
    "libraries that a narrower pattern leaves out": LaterTrick(
        {**_LIBRARY},
        {"main.c": GROWN, "build.sh": f"{_LIBRARY['build.sh']}cp libf.so libe.so; strip libe.so\n",
         "f.c": "int f;\n"},
        config=f"{CONFIG}    also: lib*.so\n",
        then=f"{CONFIG.replace('sh build.sh', 'sh build.sh; true')}    also: libe*.so\n",
    ),
    "another machine of smaller size": LaterTrick(
        {"build.sh": BUILD, "main.c": MAIN.replace("SIZE 1", "SIZE 3000")},
        {"build.sh": "printf '.globl _start\\n_start: ret\\n' > m.s; as --32 m.s -o m.o;"
         " ld -melf_i386 m.o -o app\n"},
    ),
    "an assembler by COMPILER_PATH": LaterTrick(
        {"build.sh": "chmod +x t/as\nCOMPILER_PATH=$PWD/t cc -Os -o app main.c\n", "main.c": MAIN,
         "t/as": '#!/bin/sh\nexec /usr/bin/as "$@"\n'},
        {"t/as": '#!/bin/sh\nfor last; do :; done\necho ".data; .fill 6000,1,1" >> "$last"\n'
         'exec /usr/bin/as "$@"\n'},
        config=CONFIG.replace("'*.md'", "'t/*'"),
    ),
    "a makefile that make prefers": LaterTrick(
        {"build.sh": "make\n", "Makefile": "app: main.c\n\tcc -Os -o app main.c\n",
         "main.c": MAIN},
        {"GNUmakefile": "app: main.c\n\tcc -Os -DSIZE=6000 -o app main.c\n"},
        config=CONFIG.replace("'*.md'", "'GNU*'"),
    ),
    "a module that Python imports at its start": LaterTrick(
        {"build.sh": "PYTHONPATH=p python3 -c '' > g.h\ncc -Os -include g.h -o app main.c\n",
         "main.c": MAIN, "p/x.py": ""},
        {"p/sitecustomize.py": "print('#define SIZE 6000')\n"},
        config=CONFIG.replace("'*.md'", "'p/*'"),
    ),
    "options that ccache is told to ignore": LaterTrick(
        {"build.sh": "export CCACHE_IGNOREOPTIONS=-O*\ncc -Os -c main.c\ncc -o app main.o\n",
         "main.c": _LOOPS},
        {"build.sh": "export CCACHE_IGNOREOPTIONS=-O*\ncc -O3 -c main.c\ncc -o app main.o\n"},
    ),
    "a variable of include paths in the terms": LaterTrick(
        {"build.sh": BUILD, "main.c": f"#include <m.h>\n{MAIN}", "i/m.h": "\n",
         "j/m.h": "#define SIZE 6000\n"},
        config=f"{CONFIG}    env: {{CPATH: i}}\n",
        then=f"{CONFIG}    env: {{CPATH: j}}\n",
    ),
    "a member of a package that is there twice": LaterTrick(
        {"build.sh": f"{BUILD}python3 -m zipfile -c a.zip app\n", "main.c": MAIN},
        {"build.sh": f"{BUILD}cc -Os -DSIZE=6000 -o big main.c\npython3 zip.py 2>&1\n",
         "zip.py": "import zipfile\nwith zipfile.ZipFile('a.zip', 'w') as zip:\n"
         "    zip.write('big', 'app')\n    zip.write('app', 'app')\n"},
        config=CONFIG.replace("image: app", "image: a.zip!app"),
        codes=(FAIL, INCONCLUSIVE, NOT_BUILT),
    ),
    "a run that appends to the image": LaterTrick(
        {"build.sh": BUILD, "main.c": MAIN, "run.sh": "./app; true\n"},
        {"run.sh": "head -c 6000 /dev/zero >> app\n"},
        config=f"{CONFIG}    run: sh run.sh\n",
    ),
    "a run that enlarges a library": LaterTrick(
        {"build.sh": _NEEDS, "main.c": _USES, "f.c": "int f(void) { return 1; }\n",
         "run.sh": "./app; true\n"},
        {"run.sh": "head -c 6000 /dev/zero >> libf.so\n"},
        config=f"{CONFIG}    run: sh run.sh\n",
    ),
    "a library of the same name from elsewhere": LaterTrick(
        {"build.sh": _NEEDS, "main.c": _USES, "f.c": "int f(void) { return 1; }\n"},
        {"build.sh": _NEEDS.replace("f.c", "f.c -Wl,-soname,libf.so") + "rm libf.so\n",
         "f.c": "char a[6000] = {1};\nint f(void) { return a[0]; }\n"},
    ),
    "data that a section header leaves out of the file": LaterTrick(
        {"build.sh": BUILD, "main.c": MAIN},
        {"build.sh": f"{_GREW.replace('cc', 'cc -s')}python3 edit.py\n", "edit.py": _NO_BITS},
        codes=(NOT_BUILT,),
    ),
    "another format": LaterTrick(
        {"build.sh": BUILD, "main.c": MAIN}, {"build.sh": "printf '\\0asm\\1\\0\\0\\0' > app\n"}
    ),
    "an ignored file that is renamed": LaterTrick(
        {"build.sh": f"mv NOTES.md data.txt\n{BUILD}", "main.c": EMBED, "NOTES.md": "1\n"},
        {"NOTES.md": LARGE},
    ),
    "an ignored folder that is renamed": LaterTrick(
        {"build.sh": f"mv doc d; mv d/NOTES.md data.txt\n{BUILD}", "main.c": EMBED,
         "doc/NOTES.md": "1\n"},
        {"doc/NOTES.md": LARGE},
    ),
    "an ignored file that the build appends to": LaterTrick(
        {"build.sh": "cat main.c >> NOTES.md; cc -Os -x c -o app NOTES.md\n", "main.c": MAIN,
         "NOTES.md": "\n"},
        {"NOTES.md": "#define SIZE 6000\n"},
    ),
    "a link to a folder": LaterTrick(
        {"build.sh": "cc -Os -o app src/main.c\n", "small/main.c": MAIN, "large/main.c": GROWN},
        links=({"src": "small"}, {"src": "large"}),
    ),
    "the target of an ignored link": LaterTrick(
        {"build.sh": f"more=$(readlink NOTES.md); {BUILD}", "main.c": MAIN},
        links=({"NOTES.md": "-DSIZE=1"}, {"NOTES.md": "-DSIZE=6000"}),
    ),
    "a response file": _by_option("@NOTES.md", "-DSIZE=1\n", "-DSIZE=6000\n"),
    "an included document": _by_option("-include NOTES.md", "\n", "#define SIZE 6000\n"),
    "a specs file": _by_option(
        "-specs=./NOTES.md", "*cpp:\n+ -DSIZE=1\n\n", "*cpp:\n+ -DSIZE=6000\n\n"
    ),
    "a linker script": _by_option(
        "-Wl,-T,NOTES.md",
        "SECTIONS { .more : { LONG(1) } } INSERT AFTER .data;\n",
        "SECTIONS { .more : { LONG(1) . = . + 6000; LONG(2) } } INSERT AFTER .data;\n",
    ),
    "an option file of clang": LaterTrick(
        {"build.sh": "clang-19 --config ./NOTES.md -Os -o app main.c\n", "main.c": MAIN,
         "NOTES.md": "-DSIZE=1\n"},
        {"NOTES.md": "-DSIZE=6000\n"},
    ),
    "#embed": LaterTrick(
        {"build.sh": "clang-19 -std=c23 -Os -o app main.c\n", "NOTES.md": "1\n",
         "main.c": 'const char a[] = {\n#embed "NOTES.md"\n};\n'
         "int main(int c, char** v) { return a[c]; }\n"},
        {"NOTES.md": LARGE},
    ),
    "an .include of the assembler": LaterTrick(
        {"build.sh": BUILD, "NOTES.md": ".data\n.byte 1\n.text\n",
         "main.c": 'asm(".include \\"NOTES.md\\"");\nint main(void) { return 0; }\n'},
        {"NOTES.md": ".data\n.fill 6000, 1, 1\n.text\n"},
    ),
    "an .incbin by a macro of the assembler": LaterTrick(
        {"build.sh": "cc -Os -o app main.c d.S\n", "NOTES.md": "1\n",
         "main.c": "extern char b[];\nint main(void) { return b[0]; }\n",
         "d.S": '.data\n.globl b\n.macro inc n\n.incbin "\\n"\n.endm\nb: inc NOTES.md\n'},
        {"NOTES.md": LARGE},
    ),
    "objcopy after the link": LaterTrick(
        {"build.sh": f"{BUILD}objcopy --add-section .gnu_debugdata=NOTES.md app\n", "main.c": MAIN,
         "NOTES.md": "1\n"},
        {"NOTES.md": LARGE},
    ),
    "a packed program behind a stub": LaterTrick(
        {"build.sh": BUILD, "main.c": MAIN},
        {"build.sh": f"cc -Os -DSIZE=6000 -o real main.c; {BUILD}strip app\n"
         "gzip -c real >> app\n"},
    ),
    "an image behind a hard link": LaterTrick(
        {"build.sh": "cc -Os -o real main.c; ln real app\n", "main.c": MAIN}, {"main.c": GROWN}
    ),
    "a macro of attributes": LaterTrick(
        {"build.sh": f"cp d/data.txt .\n{BUILD}", "main.c": EMBED, "d/data.txt": "a\n" * 3000},
        {".gitattributes": "[attr]dos text eol=crlf\nd/*.txt dos\n"},
    ),
    "a name in the other normal form": LaterTrick(
        {"build.sh": _EVERY_C, "s/\u00e9.c": MAIN}, {"s/e\u0301.c": "char more[6000] = {1};\n"}
    ),
    "a preset of CMake": _by_cmake(
        "--preset p", {"CMakePresets.json": _PRESET % 1}, {"CMakePresets.json": _PRESET % 6000}
    ),
    "a toolchain file of CMake": _by_cmake(
        "--toolchain t.md", {"t.md": "\n"}, {"t.md": 'set(CMAKE_C_FLAGS_INIT "-DSIZE=6000")\n'}
    ),
    "an initial cache of CMake": _by_cmake(
        "-C c.md", {"c.md": "\n"}, {"c.md": 'set(CMAKE_C_FLAGS "-DSIZE=6000" CACHE STRING "")\n'}
    ),
    "a file that CMake configures": _by_cmake(
        "",
        {"CMakeLists.txt": _CMAKE + "configure_file(c.in.md c.h)\n"
         "target_include_directories(app PRIVATE ${CMAKE_BINARY_DIR})\n", "c.in.md": "\n",
         "main.c": f'#include "c.h"\n{MAIN}'},
        {"c.in.md": "#define SIZE 6000\n"},
    ),
    "an app of another name": LaterTrick(
        {"build.sh": BUILD, "main.c": MAIN},
        {"main.c": GROWN},
        then=CONFIG.replace("  app:", "  App:"),
    ),
    "an app of another name and commands": LaterTrick(
        {"build.sh": BUILD, "main.c": MAIN},
        {"main.c": GROWN, "b.sh": BUILD},
        then=CONFIG.replace("  app:", "  other:").replace("build.sh", "b.sh"),
    ),
    "an image of a group": LaterTrick(
        {"build.sh": BUILD, "main.c": MAIN},
        {"main.c": GROWN},
        then=CONFIG.replace("image: app", "images: {x: app}"),
    ),
    "swapped images": LaterTrick(
        {**_LIBRARY},
        {"main.c": GROWN},
        config=CONFIG.replace("image: app", "images: {a: app, b: libf.so}"),
        then=CONFIG.replace("image: app", "images: {a: libf.so, b: app}"),
    ),
    "a variable in the terms": LaterTrick(
        {"build.sh": BUILD, "main.c": MAIN}, then=f"{CONFIG}    env: {{more: -DSIZE=6000}}\n"
    ),
    "inputs without the sources": LaterTrick(
        {"build.sh": BUILD, "main.c": MAIN},
        {"main.c": GROWN},
        then=CONFIG.replace("ignore: '*.md'", "inputs: build.sh"),
    ),
    **{f"a name with {what}": _by_name(name) for what, name in _NAMES.items()},
}  # fmt: skip
