# Builds for macOS on x86_64, on Linux: clang-19 compiles, ld64.lld links against the stub of libSystem beside this file.

set(SG_APPLE_MACHINE x86_64)
set(SG_APPLE_SYSTEM macos13.0)
include("${CMAKE_CURRENT_LIST_DIR}/macos/apple.cmake")
