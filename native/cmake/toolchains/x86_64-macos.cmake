# Builds for macOS on x86_64, on Linux: clang-19 compiles, ld64.lld links against the stub of libSystem beside this file.

set(SG_MACOS_MACHINE x86_64)
include("${CMAKE_CURRENT_LIST_DIR}/macos/macos.cmake")
