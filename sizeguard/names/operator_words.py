"""Find operators in C++ identifiers, such as structured_add_out or LayerNormKernelImpl."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WRAPPER = re.compile(r"wrapper_[A-Za-z]+_")

# Prefixes that code omits from names: lu_factor_kernel serves linalg_lu_factor.
_FAMILIES = ("_", "native_", "linalg_", "special_")

# Length of the shortest known name that may precede other words: max_pool3d_channels_last is not a
# max.
_SHORTEST_BEGINNING = 5
# Operators whose names are also words in other names.
_COMMON_WORDS = frozenset(
    {
        "indices",
        "values",
        "index",
        "batch",
        "output",
        "split",
        "round",
        "scatter",
        "range",
        "stack",
        "where",
        "apply",
        "tensor",
        "item",
        "input",
        "cross",
        "equal",
        "dense",
    }
)


class OperatorNames:
    """Known operators, and the words that code adds to their names.

    len() is the number of operators.
    """

    def __init__(
        self,
        known: Iterable[str],
        first_words: Sequence[str] = (),
        last_words: Sequence[str] = (),
        kernels: Iterable[str] = (),
    ) -> None:
        """Prepare the tables of names.

        known:                   lines such as `aten::add Scalar Tensor out`: a name and its
            overloads, with - for the default overload
        first_words, last_words: words at the ends of identifiers, between underscores:
            structured_…, …_kernel
        kernels:                 lines such as `aten::_ctc_loss ctc_loss_cpu`: an operator, and
            functions with other names that are registered for it
        """
        self._registered = {
            kernel: operator for operator, *own in map(str.split, kernels) for kernel in own
        }
        self._exact: dict[str, str] = {}
        self._quantized: dict[str, str] = {}
        self._overloads: dict[str, str] = {}
        for line in known:
            name, *own = line.split()
            base = name.partition("::")[2]
            if name.startswith("quantized::"):
                self._quantized[base] = name
            # aten precedes other namespaces: aten::add and quantized::add have the same identifier.
            if base not in self._exact or name.startswith("aten::"):
                self._exact[base] = name
            for overload in own:
                self._overloads.setdefault(f"{base}_{overload}", name)
        self._known = _preferred(self._exact, self._overloads)
        self._short: dict[str, str] = {}
        for family in _FAMILIES:
            for base, name in self._exact.items():
                if base.startswith(family):
                    self._short.setdefault(base.removeprefix(family), name)
        self._beginnings = _beginnings(self._exact)
        self._first_words, self._last_words = frozenset(first_words), frozenset(last_words)

    def __len__(self) -> int:
        """Return the number of known operators."""
        return len(self._exact)

    def exact(self, identifier: str) -> str:
        """Return aten::add for add and add_Tensor; empty for other identifiers."""
        return self._known.get(identifier, "")

    def find(self, identifier: str) -> str:
        """Return the operator that an identifier names, ignoring the words that code adds.

        Empty if there is no known operator.
        """
        if identifier in self._registered:
            return self._registered[identifier]
        wrapper = _WRAPPER.match(identifier) if identifier[:1] == "w" else None
        if wrapper:
            return self._wrapped(identifier[wrapper.end() :])
        if identifier.startswith("quantized_") and not self.exact(identifier):
            found = self._quantized.get(
                self._without_ending(identifier.removeprefix("quantized_")), ""
            )
            if found:
                return found
        found = self._stripped(identifier)
        if found:
            return found
        if identifier.lstrip("_").startswith("q"):
            found = self._quantized_operator(identifier.lstrip("_")[1:])
            if found:
                return found
        words = _CAPITAL.sub("_", identifier).lower() if not identifier.islower() else identifier
        return (self._stripped(words) if words != identifier else "") or self._beginning(words)

    def _wrapped(self, rest: str) -> str:
        """Return the operator of a wrapper's name, after its prefix.

        torchgen writes OVERLOAD_NAME, and for structured operators NAME_OVERLOAD or
        NAME_out_OVERLOAD. The overload may be empty.
        """
        if rest.startswith("_"):
            return self._stripped(rest[1:]) or self._stripped(rest) or self._beginning(rest)
        name, cut, _ = rest.partition("_out_")
        structured = self._exact.get(name, "") if cut else ""
        return (
            self.exact(rest)
            or self._behind_overload(rest)
            or structured
            or self._stripped(rest)
            or self._beginning(rest)
        )

    def _stripped(self, text: str) -> str:
        """Return the operator of a text without some of its first words and of its last words."""
        while True:
            found = self._without_last_words(text)
            word, cut, rest = text.partition("_")
            if found or not cut or word not in self._first_words:
                return found
            text = rest

    def _without_last_words(self, text: str) -> str:
        while text:
            found = self.exact(text)
            if not found and text.startswith("_"):
                found = self._exact.get(text.lstrip("_"), "")
            elif not found:
                found = self._short.get(text, "")
            if found:
                return found
            rest, _, word = text.rpartition("_")
            if word and word not in self._last_words:
                return ""
            text = rest
        return ""

    def _without_ending(self, text: str) -> str:
        while (parts := text.rpartition("_"))[2] in self._last_words and parts[0]:
            text = parts[0]
        return text

    def _quantized_operator(self, text: str) -> str:
        """Return the operator of a text after a q: for qadd_kernel it is quantized::add.

        Kernels of other operators also compute with quantized tensors: qrelu_kernel.
        """
        if text in self._quantized:
            return self._quantized[text]
        found = self._stripped(text)
        return self._quantized.get(found.partition("::")[2], found)

    def _behind_overload(self, text: str) -> str:
        """Return the operator of Tensor_add, where torchgen writes the overload first."""
        overload, cut, name = text.partition("_")
        while cut:
            found = self._overloads.get(
                f"{name.removesuffix('_out')}_{overload}"
            ) or self._overloads.get(f"{name}_{overload}")
            if found:
                return found
            more, cut, name = name.partition("_")
            overload = f"{overload}_{more}"
        return ""

    def _beginning(self, text: str) -> str:
        """Return the operator whose name is a prefix of the text: index_select_out_cpu_dim1."""
        if text.partition("_")[0] not in self._beginnings:
            return ""
        name, cut, _ = text.rpartition("_")
        while cut and len(name) >= _SHORTEST_BEGINNING:
            if name not in _COMMON_WORDS:
                found = self._exact.get(name) or self._exact.get(f"_{name}", "")
                # Code that computes a gradient belongs to another operator.
                if found and "backward" in text[len(name) + 1 :].split("_"):
                    found = self._exact.get(f"{name}_backward", "")
                if found:
                    return found
            name, cut, _ = name.rpartition("_")
        return ""


def _beginnings(names: Iterable[str]) -> frozenset[str]:
    """Return what precedes the first underscore of each name, not counting one in front."""
    texts = (text for name in names for text in (name, name.removeprefix("_")))
    return frozenset(text.partition("_")[0] for text in texts)


def _preferred(exact: dict[str, str], overloads: dict[str, str]) -> dict[str, str]:
    """Return the operator of each identifier that is a name or a name with its overload.

    add_out is an overload of aten::add rather than quantized::add_out.
    """
    aten = {known: name for known, name in overloads.items() if name.startswith("aten::")}
    return overloads | {
        known: name if name.startswith("aten::") else aten.get(known, name)
        for known, name in exact.items()
    }
