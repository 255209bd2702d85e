"""Names in changed rows, decoded on request: a diff of half a million rows shows 25."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int, Texts
from sizeguard.diff.alias_keys import AliasKeys
from sizeguard.diff.stable_names import key_of


@dataclass(frozen=True, slots=True)
class ChangedTexts:
    """Strings of two images: string i is entry place[i] in the strings of image side[i].

    For a symbol, the string is the part of its name that stays the same between builds.

    alias: number in `aliases` of the name to show instead; -1 for names that share no bytes.
    """

    sides: tuple[Texts, ...]
    side: npt.NDArray[np.int8]
    place: Int
    is_symbol: bool
    aliases: AliasKeys | None
    alias: Int

    def __len__(self) -> int:
        """Return the number of strings."""
        return len(self.side)

    def raw(self, index: int) -> bytes:
        """Return one string's bytes."""
        if self.aliases is not None and self.alias[index] >= 0:
            return self.aliases.text(int(self.alias[index]))
        found = self.sides[self.side[index]].raw(int(self.place[index]))
        return key_of(found) if self.is_symbol else found

    def __getitem__(self, index: int) -> str:
        """Return one string, decoded."""
        return self.raw(index).decode("utf-8", "backslashreplace")
