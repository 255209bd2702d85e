"""Commands whose outputs are compared between two versions, in groups with a common start."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

# The values of $NAME in the commands below.
SETS = {
    "$TABLES": "{terminal,json,csv,markdown,html}",
    "$FINDINGS": "{terminal,json,csv,markdown,junit,sarif,github}",
    "$LISTS": "{terminal,json,csv,markdown}",
    "$LEVELS": "{operator,kernel,dtype,component,kind,section,segment,object,symbol,analyzer}",
    "$ALSO": " ".join(
        f"--also {name}=../out/all.{name}"
        for name in ("json", "csv", "markdown", "junit", "sarif", "github")
    ),
    "$CC": "--build-command 'cc -Os main.c -o app' --image app",
}


@dataclass(frozen=True)
class Group:
    """Commands that start from one state of a folder.

    commands: one per line, without `sizeguard`; an indented line continues the line before; {a,b}
              means one command with each
    folder: a git repository in WORK/run; changes by a command are compared and reverted
    before: a shell script that changes the files checked out on main
    stderr: whether stderr is compared, too
    """

    title: str
    commands: str
    folder: str = "project"
    before: str = ""
    stderr: bool = False


GROUPS = (
    Group(
        "help",
        """
        --version
        --help
        {report,diff,why,predict,verify,gate,waive,bisect,bisect-step} --help
        {build,codegen,import,trace,baseline,select} --help
        select {ops,static,adequacy,merge,lint,update} -h
        baseline {show,log,update} -h
        """,
    ),
    Group(
        "reports of our builds",
        """
        report build/vision --format $TABLES
        report build/vision/build.json --by operator,dtype -n 6
        report build/full --by $LEVELS --format json
        report build/full --by operator,dtype,symbol -n 0 --format {terminal,csv,html}
        report build/language --by component,kind,symbol --sort {file,ram,count,name}
        report build/language --by section,object --sort count --format {csv,html}
        report build/full --by symbol --filter {operator=aten::a*,dtype=Float} --format {csv,html}
        report build/full --by symbol --filter 'symbol=/gemm|addmm/' --format json
        report build/full --by section,symbol --filter unattributed --format {terminal,csv}
        report build/full --by kernel --filter dtype!=Float --filter component=kernels
        report build/vision --ascii --by component,operator,dtype -n 50
        report build/vision --format {terminal,html} --output ../out/report
        report build/{vision,full} --by section --save ../out/of.snapshot
        report build/aarch64-linux-gcc-bfd-Os/vision --by {operator,symbol} --format json
        report build/arm64-macos-clang-lld-Os/vision --by {operator,dtype,segment,object,symbol}
            --format json
        report build/x86_64-macos-clang-lld-Os/core --by section,symbol --format {terminal,csv}
        report build/x86_64-linux-clang-lld-Os/vision --by operator,dtype --format json
        report build/x86_64-linux-gcc-bfd-Os-lto/vision --by object,symbol --format {terminal,json}
        report build/vision/run_program --by {operator,section,object} --format json
        report build/vision/run_program.stripped --by {operator,symbol} --format json
        report build/vision/run_program --map build/vision/run_program.map --by object -n 0
        report build/vision/run_program.stripped --debug-file build/vision/run_program --by dtype
        report build/vision --preset {executorch,aten} --by component --format json
        report build/vision --rules ../samples/rules.yaml --by component,operator --format json
        """,
    ),
    Group(
        "reports of other images",
        """
        report ../samples/{bfd,gold,mold,lld}.out --by kind,section,symbol --format json
        report ../samples/bfd.out --map ../samples/{bfd,gold}.map --by object,symbol --format csv
        report ../samples/gold.out --map ../samples/gold.map --by object,symbol --format $TABLES
        report ../samples/mold.out --map ../samples/mold.map --by object,symbol --format json
        report ../samples/lld.out --map ../samples/lld.map --by object,symbol --format json
        report ../samples/bfd.out --objects ../samples/{main.o,libshapes.a} --by object --format csv
        report ../samples/stripped.out --by symbol --format {terminal,json}
        report ../samples/stripped.out --debug-file ../samples/bfd.debug --by symbol --format json
        report ../samples/{static.out,shared.so,partial.o} --by section,symbol --format csv
        report ../samples/{dtypes.out,switch_lambdas.o} --by dtype,symbol --format {terminal,json}
        report ../samples/dtypes.out --map ../samples/dtypes.map --by analyzer,kind --format json
        report ../samples/{main.o,libshapes.a,thin.a} --by section,symbol --format json
        report ../samples/bfd.out --rules ../samples/rules.yaml --by component --format json
        report ../samples/{armv7,aarch64_be,i386,mips,powerpc64,s390x} --by section,symbol
            --format json
        report ../samples/{armv7,i386,mips,powerpc64}.o --by section,symbol --format json
        report ../samples/{armv7,s390x}.stripped --by kind,symbol --format json
        report ../samples/powerpc64 --map ../samples/powerpc64.map --by object --format json
        report ../samples/app-{arm64,x86_64} --by {kind,segment} --format json
        report ../samples/app-arm64 --map ../samples/app-arm64.map --by object --format {csv,json}
        report ../samples/app-stripped-arm64 --debug-file ../samples/app-arm64.dSYM --by symbol
        report ../samples/{lib,opcodes,app-stripped}-{arm64,x86_64} --by kind,symbol --format json
        report ../samples/{main-arm64,main-i386,shapes-x86_64}.o --by section,symbol --format json
        report ../samples/fat --arch {arm64,x86_64,armv7} --by section --format json
        report ../samples/fat
        report ../samples/{python3,libstdc++.so,numpy.so,lief.so} --by component,symbol
        report ../samples/{python3,libstdc++.so} --by kind,section,segment --format json
        report ../samples/{numpy.so,lief.so} --by component,kind,symbol --format json
        report ../samples/libstdc++.so --by symbol --filter 'symbol=*time_get*' --format {csv,json}
        report ../samples/libstdc++.so --preset {aten,executorch} --by operator --format json
        report ../samples/{vision,full,bfd}.snapshot --by operator,object --format json
        report ../samples/full.snapshot --by operator,dtype --filter 'operator=/conv/' -n 4
        """,
    ),
    Group(
        "differences",
        """
        diff build/full build/vision --format $TABLES
        diff build/full build/vision --by {dtype,component,kind,object,symbol} --format json
        diff build/full build/language --by operator,dtype,symbol -n 0 --format {json,html}
        diff build/vision build/language --by symbol --metric {load,file,ram} --format csv
        diff build/vision build/language --filter {dtype=Float,operator=aten::a*} --by symbol
        diff build/vision build/vision --by symbol --format {terminal,json}
        diff build/vision build/language --ascii -n 5 --by object,symbol
        diff build/vision build/language --output ../out/diff.html --format html
        diff build/vision build/x86_64-linux-clang-lld-Os/vision --by symbol --format json
        diff build/vision build/x86_64-linux-gcc-bfd-Os-lto/vision --by symbol --format json
        diff build/vision build/aarch64-linux-gcc-bfd-Os/vision --by operator,section --format json
        diff build/arm64-macos-clang-lld-Os/{vision,language} build/arm64-macos-clang-lld-Os/vision
        diff build/arm64-macos-clang-lld-Os/language build/vision --by symbol --format json
        diff ../samples/{full,vision}.snapshot build/vision --by operator,symbol --format {json,csv}
        diff ../samples/bfd.snapshot ../samples/gold.out --map ../samples/gold.map --by object
        diff ../samples/{bfd,mold}.out ../samples/lld.out --by section,symbol --format json
        diff ../samples/bfd.out ../samples/stripped.out --by symbol --metric file --format json
        diff ../samples/bfd.out ../samples/static.out --by symbol -n 0
        diff ../samples/python3 ../samples/libstdc++.so --by section --format {terminal,json}
        diff ../samples/app-arm64 ../samples/lib-arm64 --by symbol --format {terminal,json}
        diff ../samples/app-x86_64 ../samples/fat --arch x86_64 --by symbol --format json
        diff build/vision build/language --rules ../samples/rules.yaml --by component --format json
        """,
    ),
    Group(
        "why",
        """
        why build/vision aten::convolution --format $TABLES
        why build/vision {aten::linear:Float,aten::relu,.init_array,main} --roots 0 --format json
        why build/full {aten::erf,aten::lstm.input,aten::gelu:Float} --format json
        why build/full 'gather_run<float>' --roots 0 --format {terminal,json,html}
        why build/full {.data,.eh_frame,.text} --roots 2
        why build/vision aten::erf --format {terminal,json}
        why build/vision aten::convolution --ascii --output ../out/why.txt
        why build/vision/run_program main
        why build/aarch64-linux-gcc-bfd-Os/vision aten::convolution --format json
        why build/arm64-macos-clang-lld-Os/vision {aten::convolution,aten::relu} --format json
        why build/x86_64-linux-clang-lld-Os/vision aten::linear:Float --format json
        why build/x86_64-linux-gcc-bfd-Os-lto/vision {aten::linear,main} --format json
        why build/x86_64-macos-clang-lld-Os/core _main --format json
        why ../samples/04_vtable/program --objects ../samples/04_vtable subject
        why ../samples/05_address_table/program --objects ../samples/05_address_table/program.o
            subject --format {terminal,json}
        why ../samples/{bfd,gold,lld}.out --objects ../samples/main.o
            --objects ../samples/libshapes.a main --format json
        why ../samples/app-arm64 --objects ../samples/main-arm64.o
            --objects ../samples/shapes-arm64.o _main --format json
        why ../samples/bfd.out main
        why ../samples/bfd.out --objects ../samples main
        why build/vision nothing_of_this_name
        """,
    ),
    Group(
        "predictions",
        """
        predict --app vision --format $TABLES
        predict --app language --format {terminal,json}
        predict --app vision --no-dtypes -n 0 --format {terminal,json}
        predict --app vision --add aten::gelu:Float --drop mobilenet_v2 --format {terminal,json}
        predict --app vision --add {aten::erf,aten::lstm.input,aten::softmax.int} --format json
        predict --app language --drop encoder --drop lstm_tagger --format json
        predict --selection ../samples/small.yaml --format {terminal,json}
        predict --app vision --full build/aarch64-linux-gcc-bfd-Os/full --format json
        predict --app vision --ascii --output ../out/predict.txt
        predict --app vision --full build/instrumented
        predict --app vision --add aten::nothing
        predict --app vision --drop nothing
        predict
        """,
    ),
    Group(
        "verification",
        """
        verify build/vision --format {terminal,json,csv}
        verify build/language --format json
        verify build/full --format json
        verify build/vision --output ../out/verify.txt
        verify build/vision --selection ../samples/small.yaml --format {json,sarif}
        verify build/vision --absent aten_is_not_there --present main --format json
        verify build/aarch64-linux-gcc-bfd-Os/vision --format json
        verify build/arm64-macos-clang-lld-Os/vision --format json
        verify build/x86_64-linux-clang-lld-Os/vision --format json
        verify build/x86_64-linux-gcc-bfd-Os-lto/vision --format json
        verify --image build/vision/run_program --selection ../samples/small.yaml --format json
        verify build/vision/run_program.stripped --absent main --format {terminal,json}
        verify ../samples/{00_unreferenced,17_static}/program --absent subject --format json
        verify ../samples/04_vtable/program --objects ../samples/04_vtable
            --map ../samples/04_vtable/program.map --absent Shape::subject --format $FINDINGS
        verify ../samples/05_address_table/program --objects ../samples/05_address_table/program.o
            --map ../samples/05_address_table/program.map --absent subject --format {json,sarif}
        verify ../samples/13_runtime_guard/program --objects ../samples/13_runtime_guard/program.o
            --gc-log ../samples/13_runtime_guard/gc.log
            --map ../samples/13_runtime_guard/program.map --absent subject --present main
        verify ../samples/00_unreferenced/program --objects ../samples/00_unreferenced/program.o
            --map ../samples/00_unreferenced/program.map
            --shipped ../samples/00_unreferenced/program.stripped
            --absent subject@0x5D1EC7B39A010101 --format {terminal,json}
        verify ../samples/app-arm64 --objects ../samples/main-arm64.o
            --objects ../samples/shapes-arm64.o --map ../samples/app-arm64.map
            --present main --format json
        verify ../samples/python3 --absent main --present Py_Main --format json
        """,
    ),
    Group(
        "models and selections",
        """
        select ops --list --format $LISTS
        select ops native/models/branchy/model.pt2 --format $LISTS
        select ops native/models/{mlp,lstm_tagger,quant_cnn}/model.pt2 --format json
        select ops native/models/{mlp,encoder}/model_core.pt2 --format json
        select ops build/programs/{encoder,mobilenet_v2}.sgp --format {terminal,json}
        select ops tests/data/models_executorch/{add,add_int,add_mul,bundled,cnn}.pte --format json
        select ops tests/data/models_executorch/{control,lists,lstm,methods,mixed,mlp}.pte
        select ops tests/data/models_executorch/{add,cnn,mixed}.pte -o ../out/selection.yaml
        select ops tests/data/models_torchscript/{mlp,script_rnn}.ptl --format {terminal,json}
        select ops tests/data/models_torchscript/mlp.ptl -o ../out/selection.yaml
        select ops tests/data/exported_models/{all_dtypes,nested_cond,unsupported}/model.pt2
        select ops native/models/mlp/model.pt2 native/models/branchy/model.pt2 -o ../out/both.yaml
        select ops
        select static native/models/branchy/model.pt2 --format $LISTS
        select static native/models/{mlp,encoder}/model.pt2 --format json
        select static native/models/mobilenet_v2/model.pt2 -o ../out/selection.yaml
        select static --op-deps ../out/op_deps.yaml
        select static native/models/mlp/model.pt2 --build build/aarch64-linux-gcc-bfd-Os/full
        select static native/models/mlp/model.pt2 --dispatcher sg::find_operator --format json
        select adequacy native/models/branchy/model.pt2 --trace ../samples/branchy-trace.yaml
            --format $LISTS
        select adequacy native/models/mlp/model.pt2 --trace ../samples/{mlp,branchy}-trace.yaml
            --format {terminal,json}
        select adequacy native/models/branchy/model.pt2 --format json
        select lint native/apps/{vision,language}/selected_operators.yaml --format json
        select lint ../samples/surplus.yaml --format $LISTS
        select lint --strict ../samples/small.yaml native/apps/vision/selected_operators.yaml
        select lint ../samples/surplus.yaml --operators-yaml native/operators/operators.yaml
            --kernel-sources native/operators --format json
        trace native/models/branchy/model.pt2 -o ../out/trace.yaml
        trace native/models/{mlp,int_ops}/model.pt2 --executed-only -o ../out/trace.yaml
        trace native/models/mlp/model.pt2 native/models/branchy/model.pt2 -o ../out/trace.yaml
        import native/models/{mlp,branchy,lstm_tagger}/model.pt2 -o ../out/program.sgp
        import native/models/mlp/model_core.pt2 -o ../out/program.sgp --prepack
        import native/models/mlp/model.pt2 -o ../out/program.sgp
            --case native/models/mlp/case0_input0.npy
        import native/models/mlp/model.pt2 -o ../out/program.sgp
            --operators-yaml native/operators/operators.yaml
        import tests/data/exported_models/{all_dtypes,special_numbers,symbolic_sizes}/model.pt2
            -o ../out/program.sgp
        import tests/data/exported_models/{complex_weight,data_dependent_size}/model.pt2
            -o ../out/program.sgp
        import tests/data/exported_models/unsupported/model.pt2 -o ../out/program.sgp
        """,
    ),
    Group(
        "what is partly said on stderr",
        """
        select merge native/apps/vision/selected_operators.yaml ../samples/small.yaml
        select merge native/apps/{vision,language}/selected_operators.yaml ../samples/surplus.yaml
            -o ../out/merged.yaml
        select merge tests/data/models_executorch/add.yaml tests/data/models_executorch/lstm.yaml
            -o ../out/merged.yaml
        """,
        stderr=True,
    ),
    Group(
        "generated code",
        """
        codegen --operators-yaml native/operators/operators.yaml --kernel-sources native/operators
            --selection native/apps/{vision,language}/selected_operators.yaml --output-dir ../out
        codegen --operators-yaml native/operators/operators.yaml --kernel-sources native/operators
            {--all-operators,--no-operators} --output-dir ../out --stamp ../out/stamp
        codegen --operators-yaml native/operators/operators.yaml --kernel-sources native/operators
            --selection ../samples/small.yaml --all-dtypes --library-name tiny --output-dir ../out
        codegen --operators-yaml native/operators/operators.yaml --kernel-sources native/operators
            --selection ../samples/small.yaml --require-dtypes --dispatch-keys CPU
            --shared-with native/apps/vision/selected_operators.yaml --output-dir ../out
        codegen --operators-yaml native/operators/operators.yaml
            --operators-yaml native/examples/selective_build/extra/operators.yaml
            --kernel-sources native/examples/selective_build/extra
            --root-ops aten::relu,extra::twice --output-dir ../out
        codegen --ops-schema-yaml native/prepacked/operators.yaml --selection-only
            --output-dir ../out
        codegen --ops-from-model native/models/mlp/model.pt2 --selection-only --output-dir ../out
        codegen --selection ../samples/small.yaml --selection-only --output-dir ../out
            --selection native/apps/vision/selected_operators.yaml
        codegen --root-ops aten::relu --require-dtypes --selection-only --output-dir ../out
        codegen --operators-yaml native/operators/operators.yaml --root-ops aten::nothing
            --output-dir ../out
        """,
    ),
    Group(
        "stored results of the gate",
        """
        gate --from-json tests/data/gate/everything.json --format {json,github}
        gate --from-json tests/data/gate/everything.json $ALSO
        gate --from-json tests/data/gate/{empty,failing,passing,skipped,undecided}.json $ALSO
        gate --from-json tests/data/gate/everything.json --ascii --output ../out/gate.txt
        """,
    ),
    Group(
        "baselines and waivers",
        """
        baseline show --format {terminal,json}
        baseline log --format {terminal,json}
        baseline log --app vision --format json
        waive load --app vision --bytes 204 --owner ann --reason 'of 3x3' --expires 2999-01-31
        waive operator/aten::relu --bytes 1204 --owner ann --reason x --expires 2999-01-31 --trailer
        waive ram --target x86_64-linux --bytes 7 --owner ann --reason x --expires 2999-01-31
        waive load --bytes 204 --owner ann --reason x --expires 2001-01-31
        waive lod --bytes 204 --owner ann --reason x --expires 2999-01-31
        waive load --app nothing --bytes 204 --owner ann --reason x --expires 2999-01-31
        waive load --bytes many --owner ann --reason x --expires tomorrow
        """,
    ),
    Group(
        "errors",
        """
        nothing
        report
        report --nothing build/vision
        report {build/nothing,../samples/nothing,../samples} --by symbol
        report ../samples/{empty,text.txt,header.elf,truncated.elf,scrambled.elf} --by symbol
        report ../samples/{truncated.macho,truncated.a,truncated.snapshot,broken.yaml}
        report ../samples/bfd.out --map ../samples/{truncated.map,text.txt,empty,main.o} --by object
        report ../samples/bfd.out --objects ../samples/{truncated.a,empty,text.txt} --by object
        report ../samples/bfd.out --debug-file ../samples/{python3,text.txt} --by symbol
        report ../samples/bfd.out --rules ../samples/{rules_unknown.yaml,broken.yaml,empty}
        report ../samples/bfd.out --by {operatr,operator+dtype} -n 3
        report ../samples/bfd.out --filter {operatr=x,symbol=/(/,nothing}
        report build/vision --preset atn
        report build/vision --format yaml
        report build/vision -n -1
        report build/vision --output ../samples/empty/report.txt
        diff build/vision
        diff build/vision ../samples/{nothing,truncated.elf}
        diff build/vision build/language --metric size
        why build/vision
        why ../samples/{empty,truncated.elf} main
        why ../samples/bfd.out --objects ../samples/truncated.a main
        verify
        verify build/vision --image build/vision
        verify ../samples/{empty,truncated.elf,nothing} --absent main
        verify build/vision --selection ../samples/{broken.yaml,empty,nothing.yaml,surplus.yaml}
        predict --app vision --selection ../samples/small.yaml
        predict --app nothing
        predict --selection ../samples/broken.yaml
        predict --app vision --full ../samples
        select ops ../samples/truncated.{pt2,pte,ptl,sgp}
        select ops ../samples/{empty,text.txt,nothing.pt2}
        select static ../samples/truncated.pt2
        select lint ../samples/{broken.yaml,empty,nothing.yaml}
        select merge ../samples/{broken.yaml,nothing.yaml} ../samples/small.yaml
        import ../samples/truncated.pt2 -o ../out/program.sgp
        import native/models/mlp/model.pt2 -o ../out/a.sgp --case native/models/mlp/ops.json
        trace ../samples/{truncated.sgp,nothing.sgp} -o ../out/trace.yaml
        codegen --output-dir ../out
        codegen --operators-yaml ../samples/broken.yaml --all-operators --output-dir ../out
        build {nothing,selective}
        build full --target {mips-linux,arm64-macos} --compiler gcc
        build core --link shared --lto thin
        build selective --selection ../samples/broken.yaml
        gate --app nothing
        gate --target nothing
        gate --base nothing
        gate --also nothing=../out/a
        gate --from-json ../samples/{truncated.json,empty,text.txt,nothing.json}
        bisect v1
        bisect v1 nothing
        bisect v1 grown --metric nothing
        bisect-step --limit 1 --than v1
        """,
    ),
    Group(
        "wrong policies",
        """
        gate --format {terminal,json}
        baseline show
        waive load --bytes 204 --owner ann --reason x --expires 2999-01-31
        """,
        before="cp ../samples/unknown_metric.yaml sizeguard.yaml",
    ),
    Group(
        "bisects of a small program",
        """
        bisect good bad $CC --format $TABLES
        bisect good bad $CC --metric {file,ram} -n 0
        bisect good bad $CC --{exhaustive,into-merges} --format {terminal,json}
        bisect good bad $CC --threshold 100 --narrow
        bisect good bad --build-command 'cc -O2 main.c -Wl,-Map=app.map -o app' --image app
            --map app.map --ignore '*.md' --inputs main.c --metric section/.rodata --format json
        bisect --resume --format {json,html}
        bisect bad good $CC
        bisect good bad --build-command 'cc -Os main.c -o app'
        bisect good bad --build-command false --image app
        bisect good bad
        bisect-step $CC --limit {1000,90000}
        bisect-step $CC --than good --threshold 64
        bisect-step $CC --than good --commit HEAD~1
        bisect-step --build-command false --image app --limit 1000
        bisect-step $CC --nothing
        """,
        folder="repository",
    ),
    # From here on, builds change; commands that read the old version's builds are above.
    Group(
        "builds",
        """
        build selective --app vision --format {terminal,json}
        build core --format json
        build selective --selection ../samples/small.yaml --output-dir build/small --format json
        report build/small --by operator,dtype --format json
        verify build/small --format json
        """,
    ),
    Group(
        "a gate that passes",
        """
        gate $ALSO
        gate --format json
        gate --again --app vision --target x86_64-linux $ALSO
        select update
        select update --app vision --exact
        select update --app language --static
        baseline update --app vision --target x86_64-linux
        """,
    ),
    Group(
        "a gate without a baseline",
        """
        gate --app vision --target x86_64-linux $ALSO
        baseline update --app vision --target x86_64-linux
        """,
        before="git rm -q 'baselines/vision.x86_64-linux.*'",
    ),
    Group(
        "a gate that lacks an operator",
        """
        gate --app vision --target x86_64-linux $ALSO
        select update --app vision
        """,
        before="sed -i '/^  aten::re[ls]/d' native/apps/vision/selected_operators.yaml",
    ),
    Group(
        "a gate that does not build",
        "gate --app vision --target x86_64-linux $ALSO",
        before="echo 'int broken(' >>native/operators/kernels/unary.cpp",
    ),
    Group(
        "a gate that fails",
        """
        gate $ALSO
        gate --base v1 --format {terminal,json}
        baseline update
        """,
        before="""
        git checkout -q grown
        cp ../samples/policy.yaml sizeguard.yaml
        """,
    ),
    Group(
        "a gate with waivers",
        "gate $ALSO",
        before="""
        git checkout -q grown
        cp ../samples/policy.yaml sizeguard.yaml
        cp ../samples/waivers.yaml baselines
        """,
    ),
    Group(
        "bisects of the runtime",
        """
        bisect v1 grown --app vision --metric {load,operator/aten::relu} --format json
        bisect v1 grown --app vision --metric symbol/*gather_run* --format markdown
        bisect-step --app vision --metric load --than v1 --threshold 512 --commit grown
        bisect-step --app vision --metric operator/aten::relu --limit 90 --commit v1
        """,
    ),
)


@dataclass(frozen=True)
class Command:
    """One command line, without `sizeguard`, and its group."""

    text: str
    group: Group

    @property
    def format(self) -> str:
        """The format on the command line."""
        found = re.search(r"--format (\S+)", self.text)
        return found[1] if found else "terminal"


def expand(text: str) -> list[str]:
    """Expand each {a,b} to one of its parts, in all combinations."""
    pieces = re.split(r"\{([^{}]*)\}", text)
    choices = [piece.split(",") if i % 2 else [piece] for i, piece in enumerate(pieces)]
    return ["".join(words) for words in itertools.product(*choices)]


def commands_of(group: Group) -> Iterator[Command]:
    """Read the commands of a group, and expand them."""
    for line in re.split(r"\n(?! {12})", group.commands):
        text = " ".join(line.split())
        for name, values in SETS.items():
            text = text.replace(name, values)
        if text:
            yield from (Command(each, group) for each in expand(text))
