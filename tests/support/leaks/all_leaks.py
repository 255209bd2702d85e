"""All ways to hide code in a selective build, by name."""

from __future__ import annotations

from tests.support.leaks import (
    leak_bytes,
    leak_compiled,
    leak_entries,
    leak_formal,
    leak_invented,
    leak_kinds,
    leak_later,
    leak_linked,
    leak_links,
    leak_names,
)
from tests.support.leaks.leak_kinds import Leak, source

# The same link with a function that hides nothing: it must pass.
CONTROL = Leak("control", source("control", "LEAK()"), ())

ALL_LEAKS = {
    leak.name: leak
    for leak in (
        *leak_kinds.BY_SOURCE,
        *leak_bytes.LEAKS,
        *leak_entries.LEAKS,
        *leak_links.LEAKS,
        *leak_later.LATER,
        *leak_compiled.LEAKS,
        *leak_linked.LEAKS,
        *leak_invented.INVENTED,
        *leak_formal.FORMAL,
        *leak_names.NAMES,
    )
}
