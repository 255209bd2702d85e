"""Turns the names of our presets into the namespaces that only images of their kind have."""

from __future__ import annotations

# Apart from the rules: which preset fits is asked of each image, its rules (25 ms to read) are needed for some levels only.
PRESETS = {
    "sizeguard": ("sg::kernels", "sg::Context"),
    "executorch": ("torch::executor", "executorch::runtime", "et_kernel"),
    "aten": ("at::_ops", "at::native"),
}

# Names that say more than registration tables do: of ATen those hold a few hundred operators of TorchScript alone.
NAMES_ARE_ENOUGH = frozenset({"aten"})

ANONYMOUS = "_GLOBAL__N_1"


def identifier_of(word: str) -> str:
    """As it is mangled."""
    return ANONYMOUS if word == "(anonymous namespace)" else word
