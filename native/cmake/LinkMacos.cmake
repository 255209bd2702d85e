# How everything is compiled and linked for macOS, on Linux: options of sg_flags, and sg_link_beside_map.

if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "Builds for macOS need clang")
endif()
if(NOT SG_LINKER MATCHES "^(|lld|lld-[0-9]+)$")
  message(FATAL_ERROR "SG_LINKER is lld for macOS, not ${SG_LINKER}")
endif()
if(NOT SG_LINK MATCHES "^(executable|shared)$")
  message(FATAL_ERROR "SG_LINK is executable or shared for macOS, not ${SG_LINK}")
endif()
if(NOT EXISTS "${SG_MACOS_HEADERS}/libcxx/include/__config")
  message(FATAL_ERROR "SG_MACOS_HEADERS is the lib folder of the Python package ziglang: pip install ziglang")
endif()

# The headers of FlatBuffers lie among Linux's own, which must not be seen.
find_path(SG_FLATBUFFERS flatbuffers/flatbuffers.h PATHS /usr/include /usr/local/include NO_DEFAULT_PATH)
mark_as_advanced(SG_FLATBUFFERS)
if(NOT SG_FLATBUFFERS)
  message(FATAL_ERROR "flatbuffers/flatbuffers.h was not found: apt-get install libflatbuffers-dev")
endif()
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/macos-include")
file(CREATE_LINK "${SG_FLATBUFFERS}/flatbuffers" "${CMAKE_BINARY_DIR}/macos-include/flatbuffers" SYMBOLIC)

# In the order that libc++ wants: its own, the compiler's, the system's. What it must be told of the platform, zig's build
# of libc++ tells in the same words. It warns of every clang older than its own version; all of our sources compile.
target_compile_options(sg_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-nostdinc++>"
  -nostdlibinc
  "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-isystem \"${SG_MACOS_HEADERS}/libcxx/include\">"
  "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-isystem \"${SG_MACOS_HEADERS}/libcxxabi/include\">"
  "SHELL:-idirafter \"${SG_MACOS_HEADERS}/libc/include/any-darwin-any\""
  "SHELL:-isystem \"${CMAKE_BINARY_DIR}/macos-include\""
  "-ffile-prefix-map=${SG_MACOS_HEADERS}=macos"
  "-Wno-#warnings"
  -D_LIBCPP_ABI_VERSION=1
  -D_LIBCPP_ABI_NAMESPACE=__1
  -D_LIBCPP_HAS_THREADS=1
  -D_LIBCPP_HAS_MONOTONIC_CLOCK
  -D_LIBCPP_HAS_TERMINAL
  -D_LIBCPP_HAS_MUSL_LIBC=0
  -D_LIBCPP_DISABLE_VISIBILITY_ANNOTATIONS
  -D_LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS=0
  -D_LIBCPP_HAS_FILESYSTEM=1
  -D_LIBCPP_HAS_RANDOM_DEVICE
  -D_LIBCPP_HAS_LOCALIZATION
  -D_LIBCPP_HAS_UNICODE
  -D_LIBCPP_HAS_WIDE_CHARACTERS
  -D_LIBCPP_HAS_NO_STD_MODULES
  -D_LIBCPP_PSTL_BACKEND_SERIAL
  -D_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_NONE
  -D_LIBCPP_ASSERTION_SEMANTIC_DEFAULT=_LIBCPP_ASSERTION_SEMANTIC_IGNORE)

# Paths of objects go into the image for dsymutil; without the prefix they are the same in every folder.
target_link_options(sg_flags INTERFACE
  -fuse-ld=lld
  -nostdlib
  -Wl,-dead_strip
  "-Wl,-oso_prefix,${CMAKE_BINARY_DIR}/")
if(SG_LINKER MATCHES "^lld-([0-9]+)$")
  if(NOT EXISTS "/usr/lib/llvm-${CMAKE_MATCH_1}/bin/ld64.lld")
    message(FATAL_ERROR "SG_LINKER=${SG_LINKER} needs ld64.lld: apt-get install ${SG_LINKER}")
  endif()
  target_link_options(sg_flags INTERFACE "-B/usr/lib/llvm-${CMAKE_MATCH_1}/bin")
endif()

set_property(GLOBAL PROPERTY SG_SYSTEM_STUB "${CMAKE_CURRENT_LIST_DIR}/toolchains/macos/libSystem.tbd")

function(sg_link_beside_map name)
  get_property(stub GLOBAL PROPERTY SG_SYSTEM_STUB)
  target_link_libraries(${name} PRIVATE sg_flags "${stub}")
  target_link_options(${name} PRIVATE "-Wl,-map,$<TARGET_FILE:${name}>.map"
    "-Wl,-dependency_info,$<TARGET_FILE:${name}>.link.d")
endfunction()
