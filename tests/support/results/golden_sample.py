"""The two small analyses that the golden files show.

`python -m tests.support.results.golden_sample` rewrites the files; review the change.
"""

from __future__ import annotations

from sizeguard.attribution.group import group
from sizeguard.diff.compare import diff
from sizeguard.report.diff.render import diff_chunks
from sizeguard.report.history.render import history_chunks
from sizeguard.report.sizes.render import report_chunks
from sizeguard.report.writers.style import Style
from tests.support.histories.made_up_history import made_up_history
from tests.support.images.made_up import MadeUp, Part
from tests.support.places import DATA

FOLDER = DATA / "golden"
FORMATS = {"terminal": "txt", "json": "json", "csv": "csv", "markdown": "md"}
# report.txt has 100 columns.
SCREENS = {
    "60": Style(width=60),
    "80": Style(width=80),
    "160": Style(width=160),
    "piped": Style(full=True),
    "colour": Style(width=80, colour=True),
}
CONV = "_ZN2sg7kernels12_GLOBAL__N_19conv_bodyIfEEvPKT_"


# More than 6 parameters: the columns of a row; most have their usual value.
def _part(
    symbol: str,
    load: int,
    operator: str,
    dtype: str = "",
    kind: str = "code",
    object_: str = "ops.o",
    file: int = 0,
    ram: int = 0,
) -> Part:
    values = {
        "symbol": symbol,
        "operator": operator,
        "dtype": dtype,
        "kind": kind,
        "object": object_,
        "section": f".{kind}",
    }
    return Part(values, load, file or load, ram)


def _common() -> list[Part]:
    return [
        _part("main", 1234, "(core)"),
        _part("helper", 4250, "(shared by operators)"),
        _part("relu", 640, "aten::relu"),
        _part("name, with \"quotes\" | bar", 64, "aten::relu", kind="rodata"),
        _part("", 0, "(headers, tables, padding)", kind="symbol table", file=5000),
        _part("", 12, "unattributed", kind="unattributed"),
        _part("state", 16, "(core)", kind="data", ram=16),
    ]  # fmt: skip


def old() -> MadeUp:
    return MadeUp(
        [
            *_common(),
            _part(CONV, 2104, "aten::convolution", "Float"),
            _part("convolution", 2310, "aten::convolution"),
            _part("addmm.isra.0", 700, "aten::addmm"),
            _part("moves", 300, "aten::addmm", object_="a.o"),
            *(_part(f"loop{i}", 100, "aten::add", "Float") for i in range(3)),
            _part("gelu", 471, "aten::gelu"),
            _part("", 20, "(headers, tables, padding)", kind="padding"),
        ],
        "vision  x86_64-linux  gcc 12.2 -Os",
    )


def new() -> MadeUp:
    return MadeUp(
        [
            *_common(),
            _part(CONV, 3244, "aten::convolution", "Float"),
            _part("convolution", 2310, "aten::convolution"),
            _part("addmm.constprop.0", 690, "aten::addmm"),
            _part("moves", 300, "aten::addmm", object_="b.o"),
            *(_part(f"loop{i}", 101, "aten::add", "Float") for i in range(5)),
            _part("erf", 90, "aten::erf"),
            _part("", 44, "(headers, tables, padding)", kind="padding"),
        ],
        "vision  x86_64-linux  gcc 12.2 -Os",
    )


def goldens() -> dict[str, str]:
    """Return the golden files: name → content."""
    report = group(new(), ["operator", "dtype"])
    by_symbol = group(new(), ["symbol"], ["operator=aten::*"], "file")
    change = diff(old(), new(), ["operator", "symbol"])
    files = {}
    for format_, ending in FORMATS.items():
        files[f"report.{ending}"] = "".join(report_chunks(report, format_, 3))
        files[f"diff.{ending}"] = "".join(diff_chunks(change, format_, 6))
        files[f"report-symbols.{ending}"] = "".join(report_chunks(by_symbol, format_, 4))
        files[f"history.{ending}"] = "".join(history_chunks(made_up_history(), format_, 2))
    files["history.html"] = "".join(history_chunks(made_up_history(), "html", 0))
    files["diff-operators.txt"] = "".join(
        diff_chunks(diff(old(), new(), ["operator"]), "terminal", 0, Style(width=80))
    )
    files["diff-objects.txt"] = "".join(diff_chunks(diff(old(), new(), ["object"]), "terminal", 0))
    files["report-ascii.txt"] = "".join(
        report_chunks(report, "terminal", 3, Style(width=80, ascii=True))
    )
    for name, style in SCREENS.items():
        files[f"report-{name}.txt"] = "".join(report_chunks(report, "terminal", 3, style))
        files[f"diff-{name}.txt"] = "".join(diff_chunks(change, "terminal", 6, style))
    return files


if __name__ == "__main__":
    for name, content in goldens().items():
        (FOLDER / name).write_bytes(content.encode())
