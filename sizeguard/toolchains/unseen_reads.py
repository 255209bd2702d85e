"""Find sources that read files unseen by compiler caches; their objects must not be cached."""

from __future__ import annotations

import functools
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.git.git import git_finds

# ccache 4.7 does not see the content of an imported module, and keeps no module that it makes.
_MODULES = (
    r"^[[:space:]]*(export[[:space:]]+)?(module|import)"
    r'([[:space:]]*;|([[:space:]]+[[:alnum:]_:]|[[:space:]]*[<"])[^;()]*;)'
)
# A file that an assembler directive reads is not opened if the object is in the cache. Builds with
# other commands, or with a new store, would then not show that they depend on it. ccache itself
# leaves out code with `.incbin "`.
_DIRECTIVES = (
    r"\.(include|INCLUDE)([[:space:]\"]|$)|\.INCBIN[[:space:]\"]"
    r'|\.incbin([^ [:alnum:]_(]|$| ([^"\]|$))'
)
_SOURCES = (
    *("cc", "cpp", "cxx", "c++", "C", "cppm", "ccm", "cxxm", "c++m", "ixx", "mpp", "mxx"),
    *("cp", "CPP", "c", "s", "S", "sx", "asm"),
    *("h", "hh", "hpp", "hxx", "h++", "H", "inc", "inl", "ipp", "tpp", "tcc", "def", "mac", "in"),
)


@functools.lru_cache(64)
def has_unseen_reads(repository: Path, commit: str) -> bool:
    """Return whether a source of a commit has modules of C++, or directives that read files."""
    paths = [f"*.{suffix}" for suffix in _SOURCES]
    patterns = ("-e", _MODULES, "-e", _DIRECTIVES)
    try:
        return git_finds(repository, "grep", "-q", "-I", "-E", *patterns, commit, "--", *paths)
    except InputError:
        return True  # unknown: compile everything
