"""Read inline frames and other debug information from DWARF 2 to 5."""

from sizeguard.formats.dwarf.frames import InlineFrames as InlineFrames
from sizeguard.formats.dwarf.frames import NoDebugInformationError as NoDebugInformationError
from sizeguard.formats.dwarf.frames import inline_frames as inline_frames
