"""Spell symbols with binutils' demangler, an oracle that shares no code with ours.

LLVM's demangler spells the few symbols that binutils spells wrongly.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence

_RUST = re.compile(r"\A_?_R|17h[0-9a-f]{16}E")
_CLONE = re.compile(r" \[clone [^]]*\]")
# binutils and LLVM resolve template parameters differently if an argument is local to another
# function.
_LOCAL_ARGUMENT = re.compile(r"I[\w$]*Z[\w$]*T\d*_[\w$]*E(?:U[lt]|\d)")
# binutils shows the type of the first parameter of a template's constructor as its result if there
# is an ABI tag, and names an inherited constructor after the class that it comes from.
_TAGGED_CONSTRUCTOR = re.compile(r"C[1-3]B\d+\w+I")
_INHERITED_CONSTRUCTOR = re.compile(r"CI[12]")
_LITERAL = re.compile(r"\{|operator|\[with|decltype|'|->|requires")


def demangled(symbols: Sequence[str], *options: str) -> list[str]:
    """Demangle symbols with c++filt, including those of Rust."""
    return _filtered(symbols, "c++filt", *options)


def _filtered(symbols: Sequence[str], *command: str) -> list[str]:
    done = subprocess.run(
        command,
        input="\n".join(symbols) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split("\n")[: len(symbols)]


def spellings(symbols: Sequence[str], underscore: str = "") -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each symbol with its spellings, by the parts that they leave out.

    underscore: the format's prefix of each name
    """
    plain = [symbol.removeprefix(underscore) for symbol in symbols]
    whole, short = demangled(plain), demangled(plain, "-p")
    llvm = _filtered(plain, "llvm-cxxfilt-19")
    llvm_short = _filtered(plain, "llvm-cxxfilt-19", "-p")
    for i, (symbol, bare) in enumerate(zip(symbols, plain, strict=True)):
        full, named = whole[i], short[i]
        if _LOCAL_ARGUMENT.search(bare) or _INHERITED_CONSTRUCTOR.search(bare):
            full, named = llvm[i], llvm_short[i]
        yield symbol, _spellings(bare, symbol, _CLONE.sub("", full), _CLONE.sub("", named))


def _spellings(bare: str, symbol: str, full: str, named: str) -> dict[str, str]:
    found = {"mangled": symbol}
    if symbol != bare:
        found["mangled without underscore"] = bare
    if full == bare:
        return found
    found["demangled"] = full
    if _RUST.search(bare):
        found["without hash"] = re.sub(r"::h[0-9a-f]{16}\Z", "", full)
        return found
    if "(anonymous namespace)::" in full:
        found["without nameless namespace"] = full.replace("(anonymous namespace)::", "")
    if "[abi:" in full:
        found["without tags"] = re.sub(r"\[abi:\w+\]", "", full)
    if "{" in full:
        return found  # c++filt -p also leaves out the parameters of lambdas
    if full.endswith((" const", " volatile", " &", " &&")) and ")" in full:
        found["without qualifiers"] = re.sub(r"(?: (?:const|volatile|&&?))+\Z", "", full)
    found["without parameters"] = named
    if "<" in named and not _LITERAL.search(named):
        found["without template arguments"] = without_brackets(named)
    if _TAGGED_CONSTRUCTOR.search(bare):
        return found
    if " for " not in full and full != named and full.endswith(")"):
        at = full.find(named)
        if at > 0:
            found["without result"] = full[at:]
    return found


def without_brackets(text: str) -> str:
    """Remove <…>, including nested ones."""
    kept, depth = [], 0
    for character in text:
        depth += character == "<"
        if not depth:
            kept.append(character)
        depth -= character == ">"
    return "".join(kept)


def edited(name: str, chance: random.Random) -> str:
    """Change one letter in a word of a name."""
    places = [match.start() for match in re.finditer(r"(?<=[a-z])[a-z](?=[a-z])", name)]
    at = chance.choice(places or range(len(name)))
    letter = chance.choice([each for each in "qxzjkvw" if each != name[at]])
    return name[:at] + letter + name[at + 1 :]


def drawn(symbols: Iterable[str], count: int, seed: int) -> list[str]:
    """Draw symbols, each once."""
    distinct = sorted(set(symbols))
    return random.Random(seed).sample(distinct, min(count, len(distinct)))
