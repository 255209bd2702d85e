# Flags for macOS and iOS: options of sg_flags, and sg_link_beside_map.

if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "Builds for macOS and iOS need clang")
endif()
if(NOT SG_LINKER MATCHES "^(|lld|lld-[0-9]+)$")
  message(FATAL_ERROR "SG_LINKER is lld for macOS, not ${SG_LINKER}")
endif()
if(NOT SG_LINK MATCHES "^(executable|shared)$")
  message(FATAL_ERROR "SG_LINK is executable or shared for macOS, not ${SG_LINK}")
endif()
include(ZigHeaders)
if(CMAKE_HOST_APPLE)
  sg_flatbuffers_headers(macos-include)
else()
  sg_zig_headers(HEADERS "${SG_MACOS_HEADERS}" LIBC any-darwin-any FOLDER macos-include THREADS 1 MUSL 0 NAMESPACE __1)
endif()

# The image contains paths of objects for dsymutil. Without the prefix they are the same in every folder.
if(NOT CMAKE_HOST_APPLE)
  target_link_options(sg_flags INTERFACE -fuse-ld=lld -nostdlib)
endif()
target_link_options(sg_flags INTERFACE
  -Wl,-dead_strip
  "-Wl,-oso_prefix,${CMAKE_BINARY_DIR}/")
if(SG_LINKER MATCHES "^lld-([0-9]+)$")
  if(NOT EXISTS "/usr/lib/llvm-${CMAKE_MATCH_1}/bin/ld64.lld")
    message(FATAL_ERROR "SG_LINKER=${SG_LINKER} needs ld64.lld: apt-get install ${SG_LINKER}")
  endif()
  target_link_options(sg_flags INTERFACE "-B/usr/lib/llvm-${CMAKE_MATCH_1}/bin")
endif()

if(NOT CMAKE_HOST_APPLE)
  set_property(GLOBAL PROPERTY SG_SYSTEM_STUB "${CMAKE_CURRENT_LIST_DIR}/toolchains/macos/libSystem.tbd")
endif()

function(sg_link_beside_map name)
  get_property(stub GLOBAL PROPERTY SG_SYSTEM_STUB)
  target_link_libraries(${name} PRIVATE sg_flags ${stub})
  target_link_options(${name} PRIVATE "-Wl,-map,$<TARGET_FILE:${name}>.map"
    "-Wl,-dependency_info,$<TARGET_FILE:${name}>.link.d")
endfunction()
