"""The words of reports and their meanings, for legends and `sizeguard explain`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Word(NamedTuple):
    """A word that the commands use.

    short: for a legend, at most 50 characters
    long:  whole sentences
    see:   a command that shows it
    """

    short: str
    long: str
    see: str = ""


_WORDS = {
    "load": Word(
        "bytes mapped to run it",
        "Bytes of the sections that are loaded to run the image: code, constants and initialized"
        " data. Symbol tables and debug information are not loaded. Limits apply to load by"
        " default, because stripping and alignment do not change it.",
        "sizeguard report IMAGE --by section",
    ),
    "ram": Word(
        "writable bytes: .data and .bss",
        "Bytes of writable memory that the image takes before it runs: initialized data (.data) and"
        " zeroed data (.bss). Stack and heap are not in it.",
        "sizeguard report IMAGE --by symbol --sort ram",
    ),
    "file": Word(
        "bytes of the file",
        "Bytes of the file on disk, with symbol tables, headers and alignment. A stripped file"
        " grows by whole pages, so small growth can be hidden in it.",
        "sizeguard report IMAGE --by section --sort file",
    ),
    "page_slack": Word(
        "most bytes until the file grows by a page",
        "Unused bytes between the file's segments, in sum. Each segment grows into its own part;"
        " the file on disk grows when that is used up.",
    ),
    "n": Word(
        "pieces in the row",
        "The number of pieces of the image that a row sums: functions, constants, tables. A"
        " template with twelve instances has an n of 12.",
        "sizeguard report IMAGE --by operator,symbol",
    ),
    "stored": Word(
        "bytes written into the memory",
        "Bytes of the sections whose load address is in the memory region. Initialized data is"
        " stored in flash and runs in RAM.",
        "sizeguard report IMAGE --by region",
    ),
    "runs": Word(
        "bytes at run-time addresses there",
        "Bytes of the sections whose run-time address is in the memory region, with zeroed data.",
        "sizeguard report IMAGE --by region",
    ),
    "share": Word("part of the whole", "The row's part of the whole image."),
    "total": Word("share up to here", "The share of this row and all rows above it."),
    "–": Word(
        "no name or value",
        "In a column of names: these bytes have no name on this level, such as code of an operator"
        " that has no dtype. In a column of numbers: the value is not known.",
    ),
    "exclusive": Word(
        "bytes that leave with the operator",
        "Bytes that only this operator uses: they leave the image if it is deselected. They come"
        " from the link's section graph. A row of one dtype has that dtype's part of them.",
        "sizeguard predict",
    ),
    "dtype": Word(
        "type of elements; predict has its saving",
        "The type of the elements that code works on. A dtype is deselected for all operators of a"
        " kernel tag, and that changes the code around its branch, so the exclusive bytes of a"
        " dtype's row are not what it saves. `sizeguard predict` has the saving of each branch,"
        " with an interval that contains the saving of a rebuild.",
        "sizeguard predict",
    ),
    "shared": Word(
        "also used by others",
        "The operator's part of code that several operators use. It stays while one of them stays.",
        "sizeguard predict",
    ),
    "core": Word(
        "runtime without operators",
        "Code of the runtime that every build has: loader, dispatcher, memory. No selection removes"
        " it.",
        "sizeguard build core",
    ),
    "shared by operators": Word(
        "helpers of several operators",
        "Helpers that several operators call and that belong to none of them.",
    ),
    "neutral": Word(
        "code for all dtypes",
        "Code of an operator that is not for one dtype: shape checks, memory planning, drivers. "
        "It stays for every selection of dtypes.",
    ),
    "unattributed": Word(
        "bytes without an owner",
        "Bytes that no symbol, section, map or table explains. They are a row, and are never left"
        " out of a sum.",
        "sizeguard report IMAGE --by section,symbol --filter unattributed",
    ),
    "inconclusive": Word(
        "the evidence for a verdict is missing",
        "A check that can be neither passed nor failed, because evidence is missing: no map, no "
        "symbols, another toolchain, or an unknown name. It never counts as a pass; the"
        " exit code is 3.",
        "sizeguard verify BUILD",
    ),
    "pass": Word("the check holds", "The check holds. If all hold, the exit code is 0."),
    "fail": Word("the check does not hold", "The check does not hold. The exit code is 1."),
    "not_run": Word(
        "built here, not run",
        "The target's images are linked on this machine but cannot run on it, so its models were"
        " not run. All other checks are made.",
    ),
    "not_applicable": Word(
        "the claim does not concern this build",
        "The verdict of a claim that cannot be asked of a build, with the reason: for example, a"
        " feature that its target does not have. It is neither a pass nor a failure.",
        "sizeguard verify BUILD",
    ),
    "headroom": Word(
        "bytes left until the limit",
        "Limit minus actual size. A negative headroom is the number of bytes to remove.",
        "sizeguard gate",
    ),
    "growth": Word(
        "bytes more than at the merge base",
        "Bytes more than at the merge base with the main branch. Growth that is already on the base"
        " is not charged to a change.",
        "sizeguard gate --base origin/main",
    ),
    "merge base": Word(
        "the commit where a change left its branch",
        "The newest commit that a change and the branch it will join have in common. The gate"
        " builds it, and counts growth from its sizes.",
        "sizeguard gate --base origin/main",
    ),
    "base": Word(
        "what sizes are compared with",
        "The state that growth is counted from: the merge base with --base or the default branch;"
        " on that branch itself, the first parent of HEAD. If it cannot be built, the reviewed"
        " baseline decides.",
        "sizeguard gate --base origin/main",
    ),
    "least room": Word(
        "the limits nearest to their maximum",
        "The limits of passing builds that have the fewest bytes left, with their headroom.",
        "sizeguard gate",
    ),
    "creep": Word(
        "growth since a release",
        "Growth since a release, summed over all changes. It catches many small changes, each below"
        " its limit.",
    ),
    "baseline": Word(
        "reviewed sizes in baselines/",
        "The sizes of an app and target that were reviewed and committed. The gate compares with"
        " them when the base cannot be built.",
        "sizeguard baseline show",
    ),
    "waiver": Word(
        "an exception to a limit, with an end",
        "An entry that allows a metric more bytes than its limit until a day, with a reason and an"
        " owner.",
        "sizeguard waive --help",
    ),
    "claim": Word(
        "a statement that verify judges",
        "A statement about an image: an operator, kernel, dtype branch, class, feature or symbol is"
        " absent or present.",
        "sizeguard verify BUILD --list",
    ),
    "canary": Word(
        "the verifier's check of itself",
        "A live symbol that verify has to find, and a dead one that it must not find. If either "
        "check fails, the verifier is broken, and the exit code is 4.",
    ),
    "elimination": Word(
        "deselected code is absent",
        "The claims that everything deselected is absent from the image.",
        "sizeguard verify BUILD",
    ),
    "selection": Word(
        "the operators and dtypes an app keeps",
        "The operators, dtypes, classes and features that a build keeps, usually in"
        " selected_operators.yaml.",
        "sizeguard select --help",
    ),
    "component": Word(
        "a part of the runtime or the toolchain",
        "A part of the program by the rules of its runtime: kernels, loader, C++ library.",
        "sizeguard report IMAGE --by component",
    ),
    "global": Word(
        "C++ code outside of all namespaces",
        "C++ functions and variables that are in no namespace. `no namespace` has those of C and"
        " assembler, whose names are not mangled.",
        "sizeguard report IMAGE --by namespace,symbol --filter 'namespace=(global)'",
    ),
    "no namespace": Word(
        "names of C and assembler",
        "Functions and variables whose names are not mangled, so they have no namespace: code of C"
        ' and assembler, and C++ that is declared extern "C".',
        "sizeguard report IMAGE --by namespace,symbol --filter 'namespace=(no namespace)'",
    ),
    "padding": Word(
        "unused bytes for alignment",
        "Bytes that only align what follows them. In a diff, growth of padding has no code of its"
        " own: other code has another size or place.",
        "sizeguard report IMAGE --by kind,section",
    ),
    "kind": Word(
        "kind of bytes: code, rodata, …",
        "The kind of bytes: code, rodata, string, vtable, unwind, relocation, symbol table, debug,"
        " padding and others.",
        "sizeguard report IMAGE --by kind",
    ),
    "snapshot": Word(
        "everything known of an image, in a file",
        "A file with everything that is known of an image. It replaces the image in later "
        "reports and diffs.",
        "sizeguard report IMAGE --save FILE",
    ),
    "margin": Word(
        "possible error of a prediction",
        "The bytes by which a prediction may be off, from choices of the compiler.",
        "sizeguard predict",
    ),
    "saving": Word(
        "bytes that deselecting it frees",
        "Bytes that leave the image if only this operator or dtype is deselected, with an "
        "interval that contains the saving of a rebuild.",
        "sizeguard predict",
    ),
    "interval": Word(
        "the range that contains the saving",
        "The least and the most bytes that a rebuild without the operator or dtype saves. The"
        " compiler may inline or merge code differently then; the exact saving is between them.",
        "sizeguard predict",
    ),
    "removed": Word(
        "in the old image only",
        "A diff's row whose bytes are in the old image and not in the new one. In `baseline log`, a"
        " baseline that a commit deleted.",
        "sizeguard diff OLD NEW",
    ),
    "operator": Word(
        "an operator of the runtime, such as aten::add",
        "The operator that code belongs to, by the registrations and the section graph of its"
        " runtime. Names of PyTorch's operators have an overload behind a dot.",
        "sizeguard report IMAGE --by operator,symbol",
    ),
    "section": Word(
        "a section of the image, such as .text",
        "A section of the image, or a part of it that the linker took from one input. Segments are"
        " made of sections.",
        "sizeguard report IMAGE --by section",
    ),
    "region": Word(
        "a memory of the device, such as FLASH",
        "A memory of the linker script's MEMORY command, with its length. Limits may be a share of"
        " it: region/FLASH: 90%.",
        "sizeguard report IMAGE --by region",
    ),
    "moved": Word(
        "same bytes, now from another place",
        "A diff's cause: the same symbol now comes from another object or section.",
    ),
}  # fmt: skip
WORDS: Mapping[str, Word] = MappingProxyType(_WORDS)
