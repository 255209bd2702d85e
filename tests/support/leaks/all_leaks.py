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


# Ways that a run without the others tries: each check of verification finds some.
COVERING = (
    "renamed_namespace",
    "other_options",
    "without_debug_information",
    "bytes_in_rodata",
    "bytes_in_function",
    "fragment_of_init",
    "script_bytes_in_code",
    "entry_code_first",
    "dtype_of_own_loop",
    "other_object_not_recorded",
    "function_object",
    "shared_library",
    "bytes_between_sections",
    "helper_in_its_own_file",
    "dtype_of_auto_parameter",
    "dtype_of_overload",
    "dtype_of_member",
    "dtype_of_function_object",
    "one_feature_of_recompiled_file",
)
