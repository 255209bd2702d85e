"""Functions that initialize and return thread-local variables, in words of two demanglers."""

from __future__ import annotations

import re

# The starts of their mangled names
WRAPPER, INITIALIZER = "_ZTW", "_ZTH"
_WORDS = re.compile(
    r"\A(?:TLS|thread-local) (wrapper|init)(?:ialization)? (?:function|routine) for "
)


def as_llvm(text: str) -> str:
    """Write the words of LLVM's demangler for those of binutils'."""
    return _WORDS.sub(lambda match: f"thread-local {_whole(match[1])} routine for ", text)


def as_binutils(text: str) -> str:
    """Write the words of binutils' demangler for those of LLVM's."""
    return _WORDS.sub(r"TLS \1 function for ", text)


def without_words(text: str) -> str:
    """Return the variable alone."""
    return _WORDS.sub("", text)


def _whole(word: str) -> str:
    return "initialization" if word == "init" else word
