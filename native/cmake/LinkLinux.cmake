# Link flags for Linux: options of sg_flags, and sg_link_beside_map.

target_link_options(sg_flags INTERFACE
  -Wl,--gc-sections
  -Wl,--print-gc-sections
  -Wl,--as-needed
  -Wl,-O1
  -Wl,--hash-style=gnu
  -Wl,--build-id=sha1
  -Wl,-z,noseparate-code
  -Wl,--no-demangle)

set(sg_linker "${SG_LINKER}")
if(NOT sg_linker)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    set(sg_linker lld)
  else()
    set(sg_linker bfd)
  endif()
endif()

if(sg_linker STREQUAL "gold")
  if(SG_LINK STREQUAL "static-pie")
    message(FATAL_ERROR "gold links no static-pie: it lacks --no-dynamic-linker")
  endif()
  # It lacks the option, and never separates code.
  get_target_property(sg_options sg_flags INTERFACE_LINK_OPTIONS)
  list(REMOVE_ITEM sg_options -Wl,-z,noseparate-code)
  set_target_properties(sg_flags PROPERTIES INTERFACE_LINK_OPTIONS "${sg_options}")
endif()

if(sg_linker STREQUAL "mold" AND CMAKE_C_COMPILER MATCHES "-linux-gnu-gcc$")
  # A cross gcc looks for ld.mold only under its own prefix; mold's package has a folder that contains only `ld`.
  find_path(SG_MOLD_FOLDER ld PATHS /usr/libexec/mold /usr/local/libexec/mold NO_DEFAULT_PATH)
  mark_as_advanced(SG_MOLD_FOLDER)
  if(NOT SG_MOLD_FOLDER)
    message(FATAL_ERROR "SG_LINKER=mold needs mold: apt-get install mold")
  endif()
  target_link_options(sg_flags INTERFACE "-B${SG_MOLD_FOLDER}")
elseif(sg_linker MATCHES "^lld-([0-9]+)$")
  if(NOT EXISTS "/usr/lib/llvm-${CMAKE_MATCH_1}/bin/ld.lld")
    message(FATAL_ERROR "SG_LINKER=${sg_linker} needs ld.lld: apt-get install ${sg_linker}")
  endif()
  target_link_options(sg_flags INTERFACE -fuse-ld=lld "-B/usr/lib/llvm-${CMAKE_MATCH_1}/bin")
else()
  target_link_options(sg_flags INTERFACE -fuse-ld=${sg_linker})
endif()
if(sg_linker STREQUAL "lld" AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # gcc looks for ld.lld only in its own folders; Debian keeps it in the folder of its LLVM version.
  find_program(SG_LLD ld.lld PATHS /usr/lib/llvm-19/bin NO_DEFAULT_PATH)
  find_program(SG_LLD NAMES ld.lld ld.lld-19)
  mark_as_advanced(SG_LLD)
  if(NOT SG_LLD)
    message(FATAL_ERROR "SG_LINKER=lld needs ld.lld: apt-get install lld-19")
  endif()
  get_filename_component(sg_lld_folder "${SG_LLD}" DIRECTORY)
  target_link_options(sg_flags INTERFACE "-B${sg_lld_folder}")
endif()

if(SG_LINK STREQUAL "shared")
  target_link_options(sg_flags INTERFACE -Wl,-z,defs)
elseif(NOT SG_LINK STREQUAL "executable")
  target_link_options(sg_flags INTERFACE -${SG_LINK})
endif()

function(sg_link_beside_map name)
  target_link_libraries(${name} PRIVATE sg_flags m)
  target_link_options(${name} PRIVATE "-Wl,-Map=$<TARGET_FILE:${name}>.map"
    "-Wl,--dependency-file=$<TARGET_FILE:${name}>.link.d")
endfunction()
