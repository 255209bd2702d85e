"""Turns DWARF 2 to 5 into inline frames."""

from sizeguard.formats.dwarf.frames import Frames as Frames
from sizeguard.formats.dwarf.frames import inline_frames as inline_frames
