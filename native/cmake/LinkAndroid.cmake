# Flags for Android: options of sg_flags, and sg_link_beside_map. Without an NDK, SG_ANDROID_NAMES is the folder with the lists
# of bionic's names.

if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "Builds for Android need clang")
endif()
if(NOT SG_LINKER MATCHES "^(|lld|lld-[0-9]+)$")
  message(FATAL_ERROR "SG_LINKER is lld for Android, not ${SG_LINKER}")
endif()
if(NOT SG_LINK MATCHES "^(executable|shared)$")
  message(FATAL_ERROR "SG_LINK is executable or shared for Android, not ${SG_LINK}")
endif()

include(LinkLinux)
# Segments fit pages of 16 KiB, which Android 15 and later may have. Android 11 and later read these packed relocations.
target_link_options(sg_flags INTERFACE
  -Wl,-z,max-page-size=16384
  -Wl,--pack-dyn-relocs=android+relr)

include(ZigHeaders)
if(NOT SG_ANDROID_NAMES)
  sg_flatbuffers_headers(android-include)
  return()
endif()
# Flags of the NDK's toolchain file: position-independent code for libraries, and stack protection. The headers are musl's,
# which are nearest to bionic's; the one name that differs is mapped.
sg_zig_headers(HEADERS "${SG_ANDROID_HEADERS}"
  LIBC aarch64-linux-musl generic-musl aarch64-linux-any any-linux-any
  FOLDER android-include THREADS 0 MUSL 1 NAMESPACE __ndk1)
target_compile_options(sg_flags INTERFACE "SHELL:-isystem \"${SG_ANDROID_NAMES}/include\"" -fPIC -fstack-protector-strong -D__errno_location=__errno)
target_link_options(sg_flags INTERFACE -nostdlib)

set(sg_android_stubs)
foreach(library c m)
  set(stub "${CMAKE_BINARY_DIR}/android/lib${library}.stub")
  add_custom_command(
    OUTPUT "${stub}"
    COMMAND "${CMAKE_C_COMPILER}" --target=${CMAKE_C_COMPILER_TARGET} -shared -nostdlib -fuse-ld=lld
      -Wl,-soname,lib${library}.so -Wl,--build-id=none -Wl,-z,norelro "-Wl,--version-script=${SG_ANDROID_NAMES}/versions.txt"
      "-Wl,--dependency-file=${CMAKE_BINARY_DIR}/lib${library}.link.d" -o "${stub}" "${SG_ANDROID_NAMES}/lib${library}.S"
    DEPENDS "${SG_ANDROID_NAMES}/lib${library}.S" "${SG_ANDROID_NAMES}/names.S" "${SG_ANDROID_NAMES}/versions.txt"
    VERBATIM)
  list(APPEND sg_android_stubs "${stub}")
endforeach()
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/android")
add_custom_target(sg_android_stubs DEPENDS ${sg_android_stubs})
set_property(GLOBAL PROPERTY SG_ANDROID_STUBS "${sg_android_stubs}")
set_property(GLOBAL PROPERTY SG_ANDROID_START "${SG_ANDROID_NAMES}/start.c")

function(sg_link_beside_map name)
  get_property(stubs GLOBAL PROPERTY SG_ANDROID_STUBS)
  get_property(start GLOBAL PROPERTY SG_ANDROID_START)
  get_target_property(type ${name} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_sources(${name} PRIVATE "${start}")
  endif()
  add_dependencies(${name} sg_android_stubs)
  target_link_libraries(${name} PRIVATE sg_flags ${stubs})
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS "${stubs}")
  target_link_options(${name} PRIVATE "-Wl,-Map=$<TARGET_FILE:${name}>.map"
    "-Wl,--dependency-file=$<TARGET_FILE:${name}>.link.d")
endfunction()
