"""Made-up results of a gate, for tests of each format."""

from __future__ import annotations

from dataclasses import replace

from sizeguard.builds.sizes import Sizes
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS, ChainStep, Verdict, Verification
from sizeguard.gate.causes.growth_result import MOVED, Cause, Growth, Share, SizeGrowth
from sizeguard.gate.gate_result import (
    ABSOLUTE,
    CREEP,
    ELIMINATION,
    GROWTH,
    MEASURED,
    NEEDED,
    NOT_RUN,
    REVIEWED,
    AppResult,
    Base,
    Check,
    Command,
    GateResult,
    LibrarySize,
    ModelResult,
    Offer,
    Problem,
    Saving,
    SelectionFinding,
    ShippedSection,
)
from sizeguard.gate.policy.terms_result import (
    EXCEEDED,
    EXPIRED,
    SPENT,
    UNUSED,
    USED,
    PolicyChange,
    Waiver,
    WaiverUse,
)

CONVOLUTION = "native/operators/kernels/convolution.cpp"


# More than 6 parameters: those that differ between the samples.
def check(
    app: str,
    target: str,
    metric: str,
    actual: int,
    limit: int | None,
    kind: str = GROWTH,
    **more: object,
) -> Check:
    headroom = None if limit is None else limit - actual
    verdict = INCONCLUSIVE if headroom is None else PASS if headroom >= 0 else FAIL
    rule = {GROWTH: "max(1%, 512B)", CREEP: "max(2%, 1 KiB)", ABSOLUTE: "40 KiB", ELIMINATION: "0"}[
        kind
    ]
    since = {GROWTH: "merge base 4f2a91c", CREEP: "v1.2"}.get(kind, "")
    made = Check(
        f"{app}/{target}/{metric}/{kind}",
        app,
        target,
        metric,
        limit,
        actual,
        headroom,
        verdict,
        rule,
        "",
        kind=kind,
        base=None if limit is None or not since else limit - 512,
        since=since,
        place="sizeguard.yaml:5:9",
        pattern=metric,
    )
    return replace(made, **more)


def verification(app: str, wrong: int = 0) -> Verification:
    gone = [
        Verdict(
            "operator",
            f"aten::gone_{i}",
            "absent",
            PASS,
            "not_generated",
            0,
            ("registration omitted",),
        )
        for i in range(212)
    ]
    there = [
        Verdict("operator", f"aten::kept_{i}", "present", PASS, "present", 100, ("registered",))
        for i in range(41)
    ]
    chain = (
        ChainStep(".init_array", "", ""),
        ChainStep(".text", "register_extras()", "extras/registration.cpp.o"),
    )
    left = [
        Verdict(
            "operator",
            f"aten::erf_{i}",
            "absent",
            FAIL,
            "still_there",
            471,
            ("its code is in .text",),
            chain,
            "a direct call passes by",
        )
        for i in range(wrong)
    ]
    return Verification(
        f"build/{app}", "selected_operators.yaml", (*gone, *there, *left), (), "ok", ()
    )


# More than 40 lines: a line for each field of the result.
# More than 6 parameters: those that differ between the samples.
def app_result(
    app: str,
    target: str,
    load: int,
    old: int | None,
    *checks: Check,
    verdict: str = PASS,
    **more: object,
) -> AppResult:
    runs = target != "arm64-macos"
    names = {"vision": ("mobilenet_v2", "quant_cnn"), "language": ("encoder", "lstm_tagger")}[app]
    models = tuple(
        ModelResult(
            name,
            app,
            PASS if runs else NOT_RUN,
            4 if runs else 0,
            (),
            "" if runs else f"{target} does not run here",
            target,
        )
        for name in names
    )
    elimination = Check(
        f"{app}/{target}/elimination",
        app,
        target,
        ELIMINATION,
        0,
        0,
        0,
        PASS,
        "0",
        "",
        kind=ELIMINATION,
    )
    made = AppResult(
        app,
        target,
        "gcc-12.2-bfd-2.40-Os",
        verdict,
        Sizes(load, 1312, 41984, 860),
        Sizes(101_204, 2_048, 106_496, 12),
        (*checks, elimination),
        models,
        (
            Saving("aten::convolution", 9_000, 6_630),
            Saving("aten::erf", 471, 0),
            Saving("(core)", 20_000, 17_143),
        ),
        () if old is None else (Growth("aten::convolution", 5_490, 5_490 + load - old),),
        verification(app),
        old_sizes=None if old is None else Sizes(old, 1312, 41984, 860),
        base="" if old is None else MEASURED,
        folder=f"build/{app}",
        runs=runs,
    )
    return replace(made, **more)


def passing() -> GateResult:
    """One build, with everything within its limits."""
    checks = (
        check("vision", "x86_64-linux", "load", 40_120, 40_512),
        check("vision", "x86_64-linux", "ram", 1_312, 1_824),
        *(
            check(
                "vision",
                "x86_64-linux",
                f"operator/aten::op_{i}",
                100 + i,
                612,
                pattern="operator/*",
            )
            for i in range(20)
        ),
    )
    app = app_result("vision", "x86_64-linux", 40_120, 40_000, *checks, causes=grown()[1:2])
    covered = SelectionFinding("vision", "covered", "", PASS, "2 models covered, 0 missing")
    surplus = SelectionFinding(
        "vision",
        "surplus",
        "dtype gemm Double",
        PASS,
        "no model runs kernel tag gemm with Double, which the selection of app vision keeps: 818"
        " bytes on x86_64-linux",
        "remove it, or sizeguard select update --app vision",
        "native/apps/vision/selected_operators.yaml:31",
        bytes=818,
    )
    return GateResult(
        PASS,
        (app,),
        (surplus, covered),
        base=Base("4f2a91cdeadbeef", "origin/main", "Share the padding path"),
        head="77b01de",
    )


def grown() -> tuple[Cause, ...]:
    return (
        Cause(
            "aten::convolution",
            "Float",
            "conv_body<float>",
            2_104,
            3_244,
            "symbol",
            "grew",
            f"{CONVOLUTION}:88",
        ),
        Cause(
            "aten::add.Tensor",
            "",
            "sg::kernels::add(sg::Context&, sg::Tensor const&, sg::Tensor const&)",
            300,
            420,
            "symbol",
            "grew",
        ),
        Cause("", "", "", 3_000, 3_064, kind="unwind"),
        Cause("(core)", "", "", 100, 40, kind="other", cause="shrank"),
        *(
            Cause(
                "aten::mul.Tensor",
                "Long",
                f"mul_body_{i}<long>",
                10,
                6,
                "symbol",
                "shrank",
                "native/mul.cpp",
            )
            for i in range(15)
        ),
    )


COMMANDS = (
    Command("see why", "sizeguard why build/vision/run_program 'conv_body<float>'"),
    Command("reproduce", "sizeguard diff .sizeguard/4f2a91c/vision build/vision"),
    Command(
        "accept it",
        "sizeguard waive load --app vision --bytes 204 --owner YOU --reason '…' --expires"
        " 2027-01-31",
    ),
    Command("make it normal", "sizeguard baseline update --app vision --target x86_64-linux"),
)


def failing() -> GateResult:
    """One build that grew, as in the sketch."""
    advice = "shrink it, or accept it: sizeguard waive load --app vision --bytes 204"
    checks = (
        check("vision", "x86_64-linux", "load", 41_204, 41_000, advice=advice),
        check("vision", "x86_64-linux", "ram", 1_312, 4_096),
        check("vision", "x86_64-linux", "operator/aten::convolution", 6_630, 7_000),
        check("vision", "x86_64-linux", "operator/aten::sigmoid", 1_900, 1_900, moved=1_460),
    )
    shared = "(shared by operators)"
    moved = (
        Cause("aten::sigmoid", "", "elementwise", 1_019, 1_019, MOVED, MOVED, origin=shared),
        Cause("aten::sigmoid", "", "empty_in_order", 441, 441, MOVED, MOVED, origin=shared),
    )
    app = app_result(
        "vision",
        "x86_64-linux",
        41_204,
        40_000,
        *checks,
        verdict=FAIL,
        causes=(*grown(), *moved),
        commands=COMMANDS,
    )
    covered = SelectionFinding("vision", "covered", "", PASS, "2 models covered, 0 missing")
    return GateResult(
        FAIL, (app,), (covered,), base=Base("4f2a91cdeadbeef", "origin/main"), head="77b01de"
    )


def undecided() -> GateResult:
    """Another toolchain, and a build without a base."""
    checks = (
        check(
            "language",
            "x86_64-linux",
            "load",
            44_000,
            None,
            since="baseline",
            advice="the baselines are for gcc-99.1-bfd-3.0-Os",
        ),
        check("language", "x86_64-linux", "file", 40_000, 40_960, ABSOLUTE),
    )
    app = app_result(
        "language", "x86_64-linux", 44_000, None, *checks, verdict=INCONCLUSIVE, base=REVIEWED
    )
    return GateResult(
        INCONCLUSIVE, (app,), base=Base("", "origin/main", text="a shallow clone has no merge base")
    )


def skipped() -> GateResult:
    apps = tuple(replace(app, unchanged=True) for app in passing().apps)
    return replace(passing(), apps=apps, skipped="only README.md changed, which no build reads")


def empty() -> GateResult:
    problem = Problem("", "", "sizeguard.yaml names no app", "name one", 1)
    return GateResult(FAIL, (), problems=(problem,))


# More than 40 lines: one of each kind of failure, written out.
def everything() -> GateResult:
    """Two apps for three targets, with every kind of failure."""
    shares = (
        Share("a91c2f4", "Use a bigger tile", 900, "2026-09-01"),
        Share("c0ffee1", "Vectorise the padding path", 700, "2026-10-12"),
        Share("uncommitted", "", -60, ""),
    )
    creep = check(
        "vision",
        "x86_64-linux",
        "dtype/Float",
        15_540,
        15_024,
        CREEP,
        base=14_000,
        shares=shares,
        advice="see who did it: sizeguard bisect v1.2 HEAD --metric dtype/Float",
    )
    load = check("vision", "x86_64-linux", "load", 41_204, 41_000, advice="shrink it", waived=100)
    wide = Offer("file", 60_000, 42_240, 41_984, "sizeguard.yaml:9:9", "file: 42,240 B")
    vision = app_result(
        "vision",
        "x86_64-linux",
        41_204,
        40_000,
        load,
        creep,
        verdict=FAIL,
        causes=grown(),
        commands=COMMANDS,
        offers=(wide,),
        verification=verification("vision", 7),
    )
    left = replace(
        vision.checks[-1],
        verdict=FAIL,
        actual=7,
        headroom=-7,
        advice="see why: sizeguard verify build/vision",
    )
    vision = replace(vision, checks=(*vision.checks[:-1], left))
    broken = (
        ModelResult(
            "mobilenet_v2", "vision", FAIL, 3, ("aten::hardtanh", "Cache"), "", "aarch64-linux"
        ),
        ModelResult("quant_cnn", "vision", FAIL, 0, (), "timed out after 60 s", "aarch64-linux"),
    )
    arm = app_result(
        "vision",
        "aarch64-linux",
        39_000,
        39_000,
        check("vision", "aarch64-linux", "load", 39_000, 39_512),
        verdict=FAIL,
        models=broken,
    )
    mac = app_result(
        "vision",
        "arm64-macos",
        52_000,
        None,
        check(
            "vision",
            "arm64-macos",
            "load",
            52_000,
            None,
            since="baseline",
            advice="there is no baseline",
        ),
        verdict=INCONCLUSIVE,
    )
    language = [
        app_result(
            "language",
            target,
            30_000 + i,
            30_100,
            check("language", target, "load", 30_000 + i, 30_612),
        )
        for i, target in enumerate(("x86_64-linux", "aarch64-linux"))
    ]
    failed = app_result(
        "language",
        "arm64-macos",
        0,
        None,
        verdict=FAIL,
        sizes=None,
        full=None,
        models=(),
        verification=None,
        checks=(),
    )
    selection = (
        SelectionFinding(
            "vision",
            "closure",
            "aten::linear",
            FAIL,
            "aten::linear now calls aten::bmm, not in the selection of app vision",
            "sizeguard trace native/models/quant_cnn/model.pt2 -o"
            " native/apps/vision/selected_operators.yaml",
            "native/operators/kernels/linear.cpp:31",
        ),
        SelectionFinding(
            "vision",
            "trace",
            "quant_cnn",
            INCONCLUSIVE,
            "the trace of quant_cnn is older than the code",
            "trace it again",
            "native/apps/vision/selected_operators.yaml:3",
        ),
        SelectionFinding("language", "covered", "", PASS, "2 models covered, 0 missing"),
    )
    waiver = Waiver(
        "load",
        "vision",
        "",
        100,
        "tile sizes wait for the new scheduler",
        "ana",
        "2027-01-31",
        "baselines/waivers.yaml:4",
    )
    waivers = (
        WaiverUse(waiver, USED, PASS, 100),
        WaiverUse(
            replace(waiver, app="language", source="commit a91c2f4", expires="2026-01-31"),
            EXPIRED,
            FAIL,
            0,
            "expired on 2026-01-31",
            "remove it, or waive anew",
        ),
        WaiverUse(
            replace(waiver, metric="dtype/Float", source="baselines/waivers.yaml:12"),
            EXCEEDED,
            FAIL,
            100,
            "516 bytes over the limit, 100 are waived",
            "waive 416 more",
        ),
        WaiverUse(
            replace(waiver, metric="ram", source="baselines/waivers.yaml:20"),
            SPENT,
            FAIL,
            0,
            "nothing needs it any more",
            "remove it",
        ),
        WaiverUse(
            replace(waiver, target="riscv", source="baselines/waivers.yaml:28"), UNUSED, PASS
        ),
    )
    problems = (
        Problem(
            "language",
            "arm64-macos",
            "build/language-arm64: the build failed: 3 errors in convolution.cpp",
            "see build/language-arm64/build.log",
            4,
        ),
        Problem(
            "",
            "",
            "baselines/vision.riscv.yaml: belongs to no target of sizeguard.yaml",
            "remove it",
            3,
        ),
    )
    apps = (vision, arm, mac, *language, failed)
    return GateResult(
        FAIL,
        apps,
        selection,
        waivers,
        problems,
        Base("4f2a91cdeadbeef", "origin/main", "Share the padding path"),
        "77b01de55",
    )


# More than 40 lines: one of each kind of change, written out.
def terms() -> GateResult:
    """A build that is compared with a new baseline, and a change of every other kind of term."""
    baseline = "baselines/vision.x86_64-linux.gcc-12.2-bfd-2.40-Os.yaml"
    sizes = ("load 40,000, ram 1,312, file 41,984", "load 41,204, ram 1,312, file 41,984")
    changes = (
        PolicyChange(
            "limit loosened", "load growth", "max(1%, 512B)", "max(5%, 4 KiB)", True,
            place="sizeguard.yaml:5:9",
        ),
        PolicyChange("app removed", "language", "for x86_64-linux, aarch64-linux", "", True),
        PolicyChange("baseline replaced", baseline, *sizes, True, 1_204, FAIL, place=baseline),
        PolicyChange(
            "waiver added", "load of vision", "", "204 bytes until 2027-01-31, ann: tiles", True,
            204, accepted="commit 77b01de55a",
        ),
        PolicyChange(
            "selection widened", "vision dtypes of add_stub", "Float", "Double, Float", True
        ),
        PolicyChange("limit tightened", "ram maximum of vision", "4 KiB", "2 KiB", False, -2_048),
    )  # fmt: skip
    (app,) = failing().apps
    checks = tuple(
        replace(each, since="baseline") if each.kind == GROWTH else each for each in app.checks
    )
    review = "sizeguard baseline update --app vision --target x86_64-linux"
    library = Check(
        "vision/x86_64-linux/needed/libtiles.so", "vision", "x86_64-linux", "needed/libtiles.so",
        0, 1, -1, FAIL, "only libraries that the base needs",
        f"remove the library, or review it: {review}",
        kind=NEEDED, since="baseline", pattern="needed",
    )  # fmt: skip
    undone = replace(
        check("vision", "x86_64-linux", "file", 41_984, None, GROWTH), verdict=NOT_RUN, since=""
    )
    judged = replace(
        app,
        base=REVIEWED,
        checks=(*checks, library, undone),
        growth_since_base=SizeGrowth(1_204, 0, -4_096),
        unknown_sections=(ShippedSection(".payload", 300),),
        libraries=(LibrarySize("libtiles.so", 1_204, 0, 14_000),),
    )
    return replace(failing(), apps=(judged,), policy_changes=changes)


ERROR = "native/operators/kernels/convolution.cpp:88:5: error: 'tile' was not declared"


def shared() -> GateResult:
    """Two apps for four targets, where one cause fails several builds."""
    problems, apps = [], []
    for app in ("vision", "language"):
        for target in ("x86_64-linux", "aarch64-linux"):
            load = 41_204 if app == "vision" else 31_190
            limit = check(
                app,
                target,
                "load",
                load,
                load - 204,
                base=load - 1_204,
                advice=f"shrink {app}",
            )
            made = app_result(app, target, load, load - 1_204, limit, verdict=FAIL, causes=grown())
            made = replace(made, commands=COMMANDS if app == "vision" else ())
            apps.append(made)
        folder = f"{app}-armv7-linux"
        message = f"building {folder} failed: {ERROR}; log: build/{folder}/build.log"
        again = f"fix it, then run sizeguard gate --app {app} --target armv7-linux"
        problems.append(Problem(app, "armv7-linux", message, again, 4))
        advice = f"review and keep its sizes: sizeguard baseline update --app {app}"
        new = check(app, "riscv64-linux", "load", 50_000, None, since="baseline", advice=advice)
        apps.append(app_result(app, "riscv64-linux", 50_000, None, new, verdict=INCONCLUSIVE))
    models = (ModelResult("encoder", "language", FAIL, 0, (), "timed out", "x86_64-linux"),)
    apps[3] = replace(apps[3], models=models)
    calls = tuple(
        SelectionFinding(
            app, "closure", "aten::linear", FAIL,
            f"aten::linear now calls aten::bmm (118 bytes), not in the selection of app {app}",
            f"sizeguard select update --app {app}", "native/operators/kernels/linear.cpp:31",
        )
        for app in ("vision", "language")
    )  # fmt: skip
    base = Base("4f2a91cdeadbeef", "origin/main")
    return GateResult(FAIL, tuple(apps), calls, (), tuple(problems), base, "77b01de")


SAMPLES = {
    "shared": shared,
    "passing": passing,
    "failing": failing,
    "undecided": undecided,
    "skipped": skipped,
    "empty": empty,
    "everything": everything,
    "terms": terms,
}
