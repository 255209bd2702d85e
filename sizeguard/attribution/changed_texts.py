"""Turns places of names in two images into the names' texts, when they are asked for: a diff of half a million rows shows 25."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.alias_keys import AliasKeys
from sizeguard.attribution.symbol_keys import key_of
from sizeguard.formats.texts import Int, Texts


@dataclass(frozen=True, slots=True)
class ChangedTexts:
    """Text i is entry place[i] of the texts of image side[i]; of a symbol what stays of its name from build to build.

    alias: the number of the name that stands for it in `aliases`, -1 for what shares its bytes with nothing.
    """

    sides: tuple[Texts, ...]
    side: npt.NDArray[np.int8]
    place: Int
    is_symbol: bool
    aliases: AliasKeys | None
    alias: Int

    def __len__(self) -> int:
        return len(self.side)

    def raw(self, index: int) -> bytes:
        if self.aliases is not None and self.alias[index] >= 0:
            return self.aliases.text(int(self.alias[index]))
        found = self.sides[self.side[index]].raw(int(self.place[index]))
        return key_of(found) if self.is_symbol else found

    def __getitem__(self, index: int) -> str:
        return self.raw(index).decode("utf-8", "backslashreplace")
