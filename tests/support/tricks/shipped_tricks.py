"""Ways to hide growth in files that ship beside the image, or in zeros that no section has."""

from __future__ import annotations

from collections.abc import Mapping

from tests.support.tricks.later_tricks import (
    BUILD,
    CONFIG,
    FAIL,
    INCONCLUSIVE,
    MAIN,
    NOT_BUILT,
    LaterTrick,
)

PASS = 0
_WITH_RAM = CONFIG.replace("  file:", "  ram: {growth: 64 B}\n  file:")
_SMALL = "int f(void) { return 1; }\n"
_LARGE = "char a[6000] = {1};\nint f(void) { return a[0]; }\n"
_OWN_LOADER = "cc -Os -fPIC -shared -o ld.so f.c\ncc -Os -o app main.c -Wl,-I,ld.so\n"
_ARCHIVE = "cc -Os -fcommon -c main.c\nar rcs app main.o\n"
_ALSO = f"{CONFIG}    also: also.bin\n"
_ALSO_ARCHIVE = f"{BUILD}cc -Os -c f.c\nar rcs also.bin f.o\n"
_SONAME = f"{BUILD}cc -Os -fPIC -shared -Wl,-soname,libf.so.1 -o {{}} f.c\n"
_WINDOWS = "clang-19 --target=x86_64-pc-windows-msvc -Os -ffreestanding -c"
_LINKED = "lld-link-19 /entry:start /subsystem:console /nodefaultlib /out:app m.obj\n"
_DLL = (
    f"{_WINDOWS} f.c -o f.obj\nlld-link-19 /dll /noentry /nodefaultlib /out:F.dll /implib:f.lib"
    " /export:f f.obj\n"
)
_EXE = (
    f"{_DLL}mv F.dll f.DLL\n{_WINDOWS} main.c -o m.obj\nlld-link-19 /entry:start"
    " /subsystem:console /nodefaultlib /out:app m.obj f.lib\n"
)
_LATE = _EXE.replace("f.lib\n", "f.lib /delayload:F.dll\n") + "rm f.DLL\n"
_USES_DLL = "__declspec(dllimport) int f(void);\nint start(void) { return f(); }\n"
_LATE_MAIN = f"{_USES_DLL}int __delayLoadHelper2(void) {{ return 0; }}\n"
_SLICE = (
    "clang-19 --target={0}-apple-macos12 -Os -ffreestanding -DON_{0} -c main.c -o m.o\n"
    "ld64.lld-19 -arch {0} -platform_version macos 12 12 -dylib -o {0} m.o\n"
)
_UNIVERSAL = (
    f"{_SLICE.format('arm64')}{_SLICE.format('x86_64')}"
    "llvm-lipo-19 -create arm64 x86_64 -output app\n"
)
_OF_BOTH = "#ifdef ON_arm64\nchar b[20000] = {1};\n#endif\nint f(void) { return 1; }\n"
_OF_SMALLER = f"#ifdef ON_x86_64\nchar a[6000] = {{1}};\n#endif\n{_OF_BOTH}"
# Enlarges the last segment in memory, not its sections; strip undoes this.
_MORE_ZEROS = """import struct
data = bytearray(open("app", "rb").read())
(table,), (count,) = struct.unpack_from("<Q", data, 32), struct.unpack_from("<H", data, 56)
loads = [table + 56 * i for i in range(count) if data[table + 56 * i] == 1]
struct.pack_into("<Q", data, loads[-1] + 40, 90000)
open("app", "wb").write(data)
"""

SHIPPED: Mapping[str, LaterTrick] = {
    "an interpreter of the build": LaterTrick(
        {"build.sh": _OWN_LOADER, "main.c": MAIN, "f.c": _SMALL}, {"f.c": _LARGE}
    ),
    "an archive that ships": LaterTrick(
        {"build.sh": _ALSO_ARCHIVE, "main.c": MAIN, "f.c": _SMALL}, {"f.c": _LARGE}, config=_ALSO
    ),
    "an object that ships": LaterTrick(
        {"build.sh": f"{BUILD}cc -Os -c -o also.bin f.c\n", "main.c": MAIN, "f.c": _SMALL},
        {"f.c": _LARGE},
        config=_ALSO,
    ),
    "a library that is packed": LaterTrick(
        {"build.sh": _ALSO_ARCHIVE, "main.c": MAIN, "f.c": _SMALL},
        {"build.sh": f"{_ALSO_ARCHIVE}gzip also.bin; mv also.bin.gz also.bin\n", "f.c": _LARGE},
        config=f"{_ALSO}    strip: false\n",
        codes=(NOT_BUILT,),
    ),
    "a library beside an archive": LaterTrick(
        {"build.sh": f"{_ARCHIVE}cc -Os -fPIC -shared -o also.bin f.c\n", "main.c": MAIN,
         "f.c": _SMALL},
        {"f.c": _LARGE},
        config=_ALSO,
    ),
    "a DLL with a name in other letters": LaterTrick(
        {"build.sh": _EXE, "main.c": _USES_DLL, "f.c": _SMALL}, {"f.c": _LARGE}
    ),
    "a DLL that is loaded late": LaterTrick(
        {"build.sh": _EXE, "main.c": _USES_DLL, "f.c": _SMALL},
        {"build.sh": _LATE, "main.c": _LATE_MAIN},
        codes=(FAIL,),
    ),
    "a stripped file of a smaller archive": LaterTrick(
        {"build.sh": f"{_ARCHIVE}cp app small\n", "main.c": MAIN},
        {"build.sh": f"{_ARCHIVE}cp app small\n{_ARCHIVE.replace('-Os', '-Os -DSIZE=6000')}"},
        config=f"{CONFIG}    shipped: small\n",
        codes=(INCONCLUSIVE,),
    ),
    "a stripped file of a smaller program": LaterTrick(
        {"build.sh": f"{_WINDOWS} main.c -o m.obj\n{_LINKED}cp app small\n",
         "main.c": "char a[9] = {1};\nint start(void) { return a[0]; }\n"},
        {"build.sh": f"{_WINDOWS} main.c -o m.obj\n{_LINKED}cp app small\n"
         f"{_WINDOWS} large.c -o m.obj\n{_LINKED}",
         "large.c": "char a[6000] = {1};\nint start(void) { return a[0]; }\n"},
        config=f"{CONFIG}    shipped: small\n",
        codes=(INCONCLUSIVE,),
    ),
    "common symbols of an archive": LaterTrick(
        {"build.sh": _ARCHIVE, "main.c": MAIN},
        {"main.c": f"char c[6000];\n{MAIN}"},
        config=_WITH_RAM,
    ),
    "common symbols of an object": LaterTrick(
        {"build.sh": "cc -Os -fcommon -c -o app main.c\n", "main.c": MAIN},
        {"main.c": f"char c[6000];\n{MAIN}"},
        config=_WITH_RAM,
    ),
    "the smaller image of a universal binary": LaterTrick(
        {"build.sh": _UNIVERSAL, "main.c": _OF_BOTH}, {"main.c": _OF_SMALLER}, codes=(FAIL,)
    ),
    "zeros behind all sections": LaterTrick(
        {"build.sh": BUILD, "main.c": MAIN},
        {"build.sh": f"{BUILD}python3 edit.py\n", "edit.py": _MORE_ZEROS},
        config=_WITH_RAM,
        codes=(INCONCLUSIVE,),
    ),
    "nothing, beside an archive": LaterTrick(
        {"build.sh": f"{_ARCHIVE}cc -Os -fPIC -shared -o also.bin f.c\n", "main.c": MAIN,
         "f.c": _SMALL},
        {"main.c": f"{MAIN}/* the same */\n"},
        config=_ALSO,
        codes=(PASS,),
    ),
    "nothing, behind another link": LaterTrick(
        {"build.sh": f"{_SONAME.format('libf.so.1')}ln -s libf.so.1 libf.so\n", "main.c": MAIN,
         "f.c": _SMALL},
        {"build.sh": f"{_SONAME.format('libf.so.1.0')}ln -s libf.so.1.0 libf.so.1\n"
         "ln -s libf.so.1 libf.so\n"},
        config=f"{CONFIG}    also: libf.so*\n",
        codes=(PASS,),
    ),
    "nothing, in an object": LaterTrick(
        {"build.sh": "cc -Os -fcommon -c -o app main.c\n", "main.c": f"char c[60];\n{MAIN}"},
        {"main.c": f"char c[60];\n{MAIN}/* the same */\n"},
        config=_WITH_RAM,
        codes=(PASS,),
    ),
    "nothing, in a universal binary": LaterTrick(
        {"build.sh": _UNIVERSAL, "main.c": _OF_BOTH},
        {"main.c": f"{_OF_BOTH}/* the same */\n"},
        codes=(PASS,),
    ),
    "nothing, beside a DLL": LaterTrick(
        {"build.sh": _EXE, "main.c": _USES_DLL, "f.c": _SMALL},
        {"f.c": f"{_SMALL}/* the same */\n"},
        codes=(PASS,),
    ),
}  # fmt: skip
