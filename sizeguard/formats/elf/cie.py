"""Read how the FDEs of a CIE encode pointers, in .eh_frame and in Mach-O's __eh_frame."""

from __future__ import annotations

OMIT = 0xFF  # DW_EH_PE_omit: there is no pointer
_WIDTHS = {0x02: 2, 0x03: 4, 0x04: 8, 0x0A: 2, 0x0B: 4, 0x0C: 8}


def pointer_width(form: int, word_size: int) -> int:
    """Return the bytes of a pointer; 0 for OMIT and for forms without a fixed width."""
    kind = form & 15
    return _WIDTHS.get(kind, 0) if kind else word_size


def pointer_forms(cie: bytes, word_size: int) -> tuple[int, int]:
    """Return the encodings (DW_EH_PE_*) of function and LSDA pointers; OMIT for a missing one.

    cie: the bytes after its id. Both are OMIT if its augmentation is unknown or cut.
    """
    text_end = cie.find(b"\0", 1)
    if text_end < 0:
        return OMIT, OMIT
    text = cie[1:text_end]
    if not text.startswith(b"z"):
        return (0, OMIT) if not text else (OMIT, OMIT)
    at = text_end + 1
    # Alignment factors, the return address (a byte in version 1), the length of the augmentation.
    for is_byte in (False, False, cie[0] == 1, False):
        while not is_byte and at < len(cie) and cie[at] & 128:
            at += 1
        at += 1
    function, lsda = 0, OMIT
    for letter in text[1:].decode("latin-1"):
        if letter not in "RLP":
            continue  # S, B and G have no data
        if at >= len(cie):
            return OMIT, OMIT
        form = cie[at]
        at += 1
        if letter == "R":
            function = form
        elif letter == "L":
            lsda = form
        else:
            at += pointer_width(form, word_size) or word_size
    return function, lsda
