"""Words of demangled names that mangled names have, too."""

from __future__ import annotations

import re

# Words of demangled names that mangled names abbreviate or omit.
ABBREVIATED = frozenset(
    re.findall(
        r"\w+",
        """
        operator unsigned signed short long int bool char double float int128 ellipsis void
        wchar_t char8_t char16_t char32_t half nullptr_t decimal32 auto decltype const volatile
        restrict lambda unnamed anonymous namespace std string basic_string allocator
        basic_istream basic_ostream basic_iostream istream ostream iostream char_traits vtable
        typeinfo name for guard variable construction virtual thunk covariant return reference
        temporary initialization function template parameter object true false delete new sizeof
        noexcept typeid throw abi clone closure mut dyn str usize isize impl as crate shim type
        enable_if requires transaction safe fn i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64
        extern unsafe __int128 __float128 decimal64 decimal128 bfloat16_t _BitInt pixel _Accum
        _Fract _Sat VTT in nullptr literal this alignof co_await __vector _Complex
        """,
    )
)
# The same type may be shown as std::string or as std::basic_string<char, …>.
_STREAMS = ("string", "istream", "ostream", "iostream")
TYPEDEFS = frozenset((*_STREAMS, *(f"basic_{each}" for each in _STREAMS)))
# Hashes of Rust functions, numbers of lambdas, parameters in expressions, _Float16, and casts.
HASH = re.compile(
    r"h[0-9a-f]{16}|(?:lambda|unnamed)\d+|fp\d*|_Float\d+x?"
    r"|(?:const|static|dynamic|reinterpret)_cast"
)
# Other words that mangled names abbreviate, of which patterns may have a part
_WHOLE = (
    *ABBREVIATED,
    *("const_cast", "static_cast", "dynamic_cast", "reinterpret_cast", "complex", "imaginary"),
    *("_Float16", "_Float32x", "_Float64x", "_Float128x", "initializer", "module"),
    *("thread", "local", "wrapper", "routine"),
)


def is_kept(word: str) -> bool:
    """Return whether a word of a demangled name, or a part of one, is in the mangled name."""
    return not any(word in each for each in _WHOLE) and not HASH.fullmatch(word)
