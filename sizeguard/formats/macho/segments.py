"""Read the segments and sections of a Mach-O image, and check that they do not overlap."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, pairwise

from sizeguard.formats.macho import constants as c
from sizeguard.formats.macho.image import Extent, LoadCommand, Section, Segment
from sizeguard.formats.macho.load_commands import CommandReader

# Addresses are int64 columns, so higher ones (kernel images) are refused.
ADDRESS_LIMIT = 1 << 62
# Images have about five. The limit bounds the work for each segment and symbol.
MOST_SEGMENTS = 1000
# Bytes of a segment's command, and of each section after it, for 32 and 64 bits.
_SEGMENT_SIZES = ((56, 68), (72, 80))


class SegmentReader(CommandReader):
    """Reads the segments of one image."""

    def segments(
        self, commands: Sequence[LoadCommand], filetype: int
    ) -> tuple[tuple[Segment, ...], tuple[Section, ...]]:
        """Read the segments and their sections, and check that none overlap."""
        segments: list[Segment] = []
        sections: list[Section] = []
        for command in commands:
            if command.number not in (c.LC_SEGMENT, c.LC_SEGMENT_64):
                continue
            if len(segments) == MOST_SEGMENTS:
                self.damaged(f"more than {MOST_SEGMENTS} segments")
            wide = command.number == c.LC_SEGMENT_64
            segment = self.segment(command, len(sections))
            head, width = _SEGMENT_SIZES[wide]
            for i, index in enumerate(segment.sections):
                position = command.offset + head + i * width
                section = self.section(position, wide, index, len(segments), segment)
                self.check_section(section, segment)
                sections.append(section)
            segments.append(segment)
        self.check_overlap("segments", [(s.address, s.memory_size, s.name) for s in segments])
        self.check_overlap(
            "the file's parts of", [(s.offset, s.file_size, s.name) for s in segments]
        )
        self.check_overlap(
            "the file's parts of", [(s.offset, s.file_size, s.full_name) for s in sections]
        )
        if filetype != c.MH_DSYM:
            self.check_overlap("sections", [(s.address, s.size, s.full_name) for s in sections])
        return tuple(segments), tuple(sections)

    def segment(self, command: LoadCommand, first: int) -> Segment:
        """Read a segment's command; first: the index of its first section."""
        wide = command.number == c.LC_SEGMENT_64
        layout = "16xQQQQIIII" if wide else "16xIIIIIIII"
        address, memory, offset, size, maximum, protection, count, flags = self.fields(
            command, layout
        )
        head, width = _SEGMENT_SIZES[wide]
        name = self.text(command.offset + 8)
        if head + count * width > command.size:
            self.damaged(f"segment {name} has {count} sections in {command.size} bytes")
        self.check(f"segment {name}", offset, size)
        if address + memory > ADDRESS_LIMIT:
            self.damaged(f"segment {name} at address {address:#x}")
        if size > memory:
            self.damaged(f"segment {name} has {size} bytes in the file, {memory} in memory")
        sections = range(first, first + count)
        return Segment(name, address, memory, offset, size, maximum, protection, flags, sections)

    def section(
        self, position: int, wide: bool, index: int, segment_index: int, segment: Segment
    ) -> Section:
        """Read a section's header."""
        layout = "QQIIIIIII" if wide else "IIIIIIIII"
        address, size, offset, alignment, reloff, relocations, flags, first, second = self.unpack(
            layout, position + 32
        )
        # A dSYM repeats the image's sections, but not their bytes.
        backed = segment.file_size > 0 and flags & c.SECTION_TYPE not in c.ZEROFILL_TYPES
        return Section(
            index=index,
            segment=segment_index,
            name=self.text(position),
            segment_name=self.text(position + 16),
            address=address,
            size=size,
            offset=offset,
            file_size=size if backed else 0,
            alignment=1 << min(alignment, 32),
            flags=flags,
            reserved1=first,
            reserved2=second,
            relocation_offset=reloff,
            relocation_count=relocations,
        )

    def check_section(self, section: Section, segment: Segment) -> None:
        """Raise InputError if a section exceeds its segment."""
        name = section.full_name
        if (
            section.address < segment.address
            or section.address + section.size > segment.address + segment.memory_size
        ):
            self.damaged(f"section {name} is outside its segment")
        if (
            section.file_size
            and section.offset - segment.offset != section.address - segment.address
        ):
            self.damaged(
                f"section {name} is at {section.offset} of the file, but its address gives another"
                " offset"
            )
        if (
            section.file_size
            and section.offset + section.file_size > segment.offset + segment.file_size
        ):
            self.damaged(f"section {name} is outside its segment's part of the file")

    def check_overlap(self, what: str, ranges: Sequence[tuple[int, int, str]]) -> None:
        """Raise InputError if two ranges (start, size, name) overlap."""
        for before, after in pairwise(sorted(r for r in ranges if r[1])):
            if before[0] + before[1] > after[0]:
                self.damaged(f"{what} {before[2]} and {after[2]} overlap")

    def check_apart(self, sections: Sequence[Section], extents: Sequence[Extent]) -> None:
        """Raise InputError if link-edit data is in a section: a byte would have two meanings."""
        ranges = sorted((s.offset, s.offset + s.file_size) for s in sections if s.file_size)
        starts = [start for start, _ in ranges]
        ends = list(accumulate((end for _, end in ranges), max))
        for extent in extents:
            at = bisect_left(starts, extent.offset + extent.size) - 1
            if at >= 0 and ends[at] > extent.offset:
                self.damaged(
                    f"{extent.name} at [{extent.offset}, {extent.offset + extent.size}) is in a"
                    " section"
                )
