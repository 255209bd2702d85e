"""Inputs of the commands whose outputs are compared between two versions."""

from __future__ import annotations

from dataclasses import dataclass

# Small inputs, written to WORK/run/samples.
FILES = {
    "rules.yaml": """\
rules:
  - {namespace: shapes, component: geometry}
  - {namespace: sg, component: our runtime}
  - {prefix: _ZNSt, component: the library}
  - {identifier: gather_run, operator: 'my::gather', dtype: Half}
""",
    "rules_unknown.yaml": "rules:\n  - {namespce: dnnl, component: x}\n",
    "broken.yaml": "operators: [\n",
    "surplus.yaml": """\
include_all_operators: false
include_all_non_op_selectives: false
operators:
  aten::relu: {is_root_operator: true, is_used_for_training: false, include_all_overloads: false}
  aten::erf: {is_root_operator: true, is_used_for_training: false, include_all_overloads: false}
  aten::nothing: {is_root_operator: true, is_used_for_training: true}
kernel_metadata:
  relu: [Float, Flot]
  nothing: [Long]
custom_classes: []
build_features: [bundled_inputs, unheard_of]
""",
    "small.yaml": """\
include_all_operators: false
include_all_non_op_selectives: false
operators:
  aten::relu: {is_root_operator: true, is_used_for_training: false, include_all_overloads: false}
  aten::add.Tensor: {is_root_operator: true, is_used_for_training: false}
kernel_metadata: {relu: [Float], add: [Float, Long], copy: [Float]}
custom_classes: []
build_features: [bundled_inputs]
""",
    "policy.yaml": """\
targets:
  x86_64-linux:
limits:
  load:
    growth: max(1%, 512B)
    creep: max(0.1%, 64 B) since v1
  ram: {growth: "max(1%, 512B)"}
  operator/*: {growth: "max(10%, 128B)"}
apps:
  vision:
    selection: native/apps/vision/selected_operators.yaml
    models:
      - native/models/mobilenet_v2/model.pt2
      - native/models/quant_cnn/model.pt2
    limits:
      file: 90 KiB
      page_slack: 64 KiB
      dtype/Double: 0
      dtype/Float: 1 KiB
      section/.text: 30 KiB
      component/runtime: 100 KiB
      kernel/relu: 300 B
      "symbol/*gather_run*": 400 B
""",
    "waivers.yaml": """\
- {metric: load, app: vision, bytes: 4096, reason: tiles, owner: ann, expires: 2999-01-31}
- {metric: dtype/Float, bytes: 1, reason: too few, owner: bob, expires: 2999-01-31}
- {metric: ram, app: vision, bytes: 64, reason: spent, owner: ann, expires: 2999-01-31}
- {metric: operator/aten::relu, bytes: 9999, reason: old, owner: eve, expires: 2020-01-31}
""",
    "unknown_metric.yaml": """\
apps:
  vision:
    selection: native/apps/vision/selected_operators.yaml
    models: []
    limits: {lod: 1 KiB}
""",
}


@dataclass(frozen=True)
class Recipe:
    """Make inputs in a folder of WORK/run by a shell script. $OLD is the old sizeguard."""

    folder: str
    script: str


RECIPES = (
    # The source tree, with a branch that grows, built for all targets and in other ways.
    Recipe(
        "project",
        r"""
        commit() { git commit -qam "$1"; }
        kernels=native/operators/kernels
        git checkout -q -B main
        git tag -f v1
        git checkout -q -b grown
        sed -i '/^SG_DTYPE_BODY void gather_run(/a asm volatile(".fill 100, 1, 0x90");' \
          $kernels/convolution.cpp
        commit 'A little more'
        echo more >>README.md
        commit 'A document'
        sed -i '/^Result<Tensor> relu(/a asm volatile(".fill 700, 1, 0x90");' $kernels/unary.cpp
        commit 'Much more'
        git checkout -q main
        "$OLD" gate
        "$OLD" build instrumented
        "$OLD" build selective --app vision --compiler clang
        "$OLD" build selective --app vision --lto full
        "$OLD" build core --target x86_64-macos
        rm -rf .sizeguard
        """,
    ),
    # A program from four linkers, in other forms, without symbols, with LTO, and only its objects.
    Recipe(
        "samples",
        r"""
        data=../project/tests/data
        flags='-std=c++20 -g -O2 -ffunction-sections -fdata-sections'
        for name in main shapes twins; do
          g++ $flags -fPIC -c $data/linkmaps/program/$name.cpp -o $name.o
        done
        ar rcD libshapes.a shapes.o twins.o
        ar rcDT thin.a shapes.o twins.o
        wanted='-Wl,--no-demangle,--build-id=none,--gc-sections,--print-gc-sections'
        for linker in bfd gold mold lld; do
          compiler=g++
          if [ $linker = lld ]; then compiler=clang++-19; fi
          $compiler main.o libshapes.a -fuse-ld=$linker $wanted -Wl,-Map=$linker.map \
            -o $linker.out >$linker.log 2>&1
        done
        strip -o stripped.out bfd.out
        objcopy --only-keep-debug bfd.out bfd.debug
        g++ main.o libshapes.a -static -o static.out
        g++ -shared main.o shapes.o twins.o -o shared.so
        ld -r main.o shapes.o -o partial.o
        g++ $flags $data/dwarf/dtypes.cpp -Wl,--gc-sections,-Map=dtypes.map -o dtypes.out
        clang++-19 $flags $data/dwarf/switch_lambdas.cpp -c -o switch_lambdas.o
        for name in 00_unreferenced 04_vtable 05_address_table 13_runtime_guard 17_static; do
          mkdir $name
          marker=0x5D1EC7B39A010101
          g++ -O2 -ffunction-sections -fdata-sections -DMARKER=${marker}ull \
            "-DMARKER_TEXT=\"$marker\"" -c $data/retention/$name.cpp -o $name/program.o
          g++ $name/program.o -Wl,--gc-sections,--print-gc-sections,-Map=$name/program.map \
            -o $name/program >$name/gc.log 2>&1
          strip -o $name/program.stripped $name/program
        done
        """,
    ),
    # Machines that are not available here.
    Recipe(
        "samples",
        r"""
        flags='-O2 -g -std=c++20 -ffreestanding -fno-exceptions -fno-rtti'
        flags="$flags -ffunction-sections -fdata-sections -fPIC"
        for target in armv7-linux-gnueabihf aarch64_be-linux-gnu i386-linux-gnu mips-linux-gnu \
          powerpc64-linux-gnu s390x-linux-gnu; do
          machine=${target%%-*}
          clang++-19 --target=$target $flags -c ../project/tests/data/foreign/sample.cpp \
            -o $machine.o
          ld.lld-19 -static --entry=_start --gc-sections -Map=$machine.map $machine.o -o $machine
          ld.lld-19 -shared -z notext --hash-style=sysv $machine.o -o $machine.so
          llvm-strip-19 -o $machine.stripped $machine.so
        done
        """,
    ),
    # Mach-O: objects, programs, libraries, stripped, fat.
    Recipe(
        "samples",
        r"""
        data=../project/tests/data/macho
        for target in arm64-apple-macos13 x86_64-apple-macos13 i386-apple-macos10.13; do
          arch=${target%%-*}
          flags="-target $target -ffreestanding -O2 -g -c"
          clang-19 $flags $data/main.c -o main-$arch.o
          if [ $arch = i386 ]; then continue; fi
          clang++-19 $flags -std=c++17 -fexceptions -funwind-tables $data/shapes.cpp \
            -o shapes-$arch.o
          link="ld64.lld-19 -arch $arch -platform_version macos 13.0 13.0 \
            shapes-$arch.o main-$arch.o $data/libSystem.tbd"
          $link -dead_strip -map app-$arch.map -o app-$arch
          $link -no_fixup_chains -map opcodes-$arch.map -o opcodes-$arch
          $link -dylib -install_name @rpath/lib.dylib -map lib-$arch.map -o lib-$arch
          llvm-strip-19 app-$arch -o app-stripped-$arch
          dsymutil-19 app-$arch -o app-$arch.dSYM
        done
        llvm-lipo-19 -create app-arm64 app-x86_64 -output fat
        """,
    ),
    # Third-party images; snapshots and a trace by the old version; damaged files.
    Recipe(
        "samples",
        r"""
        cp "$(readlink -f "$(command -pv python3)")" python3
        cp "$(readlink -f "$(g++ -print-file-name=libstdc++.so.6)")" libstdc++.so
        cp "${OLD%/bin/*}"/lib/python3*/site-packages/numpy/_core/_multiarray_umath.*.so numpy.so
        cp "${OLD%/bin/*}"/lib/python3*/site-packages/lief/_lief.so lief.so

        project=../project
        for build in full vision; do
          "$OLD" report $project/build/$build --save $build.snapshot >/dev/null
        done
        "$OLD" report bfd.out --map bfd.map --save bfd.snapshot >/dev/null
        here=$PWD
        cd $project
        for model in branchy mlp; do
          "$OLD" trace native/models/$model/model.pt2 --executed-only -o "$here/$model-trace.yaml"
        done
        cd "$here"

        models=$project/native/models
        : >empty
        echo 'no image' >text.txt
        head -c 64 bfd.out >header.elf
        head -c 3000 bfd.out >truncated.elf
        LC_ALL=C sed 's/\x00/\xff/g' bfd.out >scrambled.elf
        head -c 2000 app-arm64 >truncated.macho
        head -c 200 libshapes.a >truncated.a
        head -c 900 bfd.snapshot >truncated.snapshot
        head -c 300 bfd.map >truncated.map
        head -c 1000 $models/mlp/model.pt2 >truncated.pt2
        head -c 200 $project/tests/data/models_executorch/mlp.pte >truncated.pte
        head -c 500 $project/tests/data/models_torchscript/mlp.ptl >truncated.ptl
        head -c 700 $project/build/programs/quant_cnn.sgp >truncated.sgp
        head -c 700 $project/tests/data/gate/failing.json >truncated.json
        """,
    ),
    # A history of a small program that grows, shrinks, fails to build, and has documents and a
    # merge.
    Recipe(
        "repository",
        r"""
        second=1700000000
        commit() {
          second=$((second + 1))
          GIT_AUTHOR_DATE="$second +0000" GIT_COMMITTER_DATE="$second +0000"
          export GIT_AUTHOR_DATE GIT_COMMITTER_DATE
          git add -A
          git commit -qm "$1"
        }
        sized() {
          echo "const char table[$1] = {1};" >main.c
          echo "int main(int n, char** v) { return table[n % $1] + (v == 0); }" >>main.c
          commit "A table of $1"
        }
        git init -q -b main
        sized 40
        git tag good
        sized 80
        echo text >README.md
        commit 'A document'
        sized 4080
        sized 80
        echo 'int broken(' >>main.c
        commit 'Does not build'
        git checkout -q -b side
        sized 300
        echo 'int more[50] = {7};' >>main.c
        commit 'An array'
        git checkout -q main
        echo text >LICENSE
        commit 'Another document'
        GIT_AUTHOR_DATE="1700000099 +0000" GIT_COMMITTER_DATE="1700000099 +0000" \
          git merge -q --no-edit side
        second=1700000100
        sized 260
        git tag bad
        """,
    ),
)
