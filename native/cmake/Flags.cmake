# How everything is compiled and linked: the target sg_flags.

if(TARGET sg_flags)
  return()
endif()

if(NOT SG_OPTIMIZE MATCHES "^-O[0123s]$")
  message(FATAL_ERROR "SG_OPTIMIZE is -Os or -O2, not ${SG_OPTIMIZE}")
endif()
if(NOT SG_LINKER MATCHES "^(|bfd|lld)$")
  message(FATAL_ERROR "SG_LINKER is bfd or lld, not ${SG_LINKER}")
endif()

get_filename_component(SG_ROOT "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

add_library(sg_flags INTERFACE)
target_include_directories(sg_flags INTERFACE "${SG_ROOT}")
target_compile_options(sg_flags INTERFACE
  ${SG_OPTIMIZE}
  -g
  -ffunction-sections
  -fdata-sections
  -fvisibility=hidden
  -fno-exceptions
  # Results must not depend on what else is selected, nor on the compiler's taste.
  -ffp-contract=off
  -fno-math-errno
  # Calls go through the GOT: 200 bytes less than stubs in the core. Assertions of FlatBuffers would cost 3,000.
  -fno-plt
  -DNDEBUG
  # No path of this machine gets into a binary: the last map that matches counts.
  "-ffile-prefix-map=${SG_ROOT}=."
  "-ffile-prefix-map=${CMAKE_BINARY_DIR}=build"
  -Wall -Wextra -Werror
  "$<$<COMPILE_LANGUAGE:CXX>:-std=c++20;-fvisibility-inlines-hidden;-fno-rtti;-fno-threadsafe-statics>")
if(NOT SG_UNWIND_TABLES)
  target_compile_options(sg_flags INTERFACE -fno-asynchronous-unwind-tables -fno-unwind-tables)
endif()

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
target_link_options(sg_flags INTERFACE -fuse-ld=${sg_linker})
if(sg_linker STREQUAL "lld" AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # gcc looks for ld.lld in its own folders only; Debian keeps it in the folder of its LLVM version.
  find_program(SG_LLD ld.lld PATHS /usr/lib/llvm-19/bin NO_DEFAULT_PATH)
  find_program(SG_LLD NAMES ld.lld ld.lld-19)
  mark_as_advanced(SG_LLD)
  if(NOT SG_LLD)
    message(FATAL_ERROR "SG_LINKER=lld needs ld.lld: apt-get install lld-19")
  endif()
  get_filename_component(sg_lld_folder "${SG_LLD}" DIRECTORY)
  target_link_options(sg_flags INTERFACE "-B${sg_lld_folder}")
endif()

if(SG_SANITIZE)
  target_compile_options(sg_flags INTERFACE -fsanitize=${SG_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(sg_flags INTERFACE -fsanitize=${SG_SANITIZE})
endif()

# Members in the order given, no time stamps, no user ids.
set(CMAKE_CXX_ARCHIVE_CREATE "<CMAKE_AR> qcD <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_APPEND "<CMAKE_AR> qD <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "<CMAKE_RANLIB> -D <TARGET>")

# An executable of ours: linked by the C driver, so that nothing drags in libstdc++; map and gc log beside it.
function(sg_executable name)
  target_link_libraries(${name} PRIVATE sg_flags m)
  target_link_options(${name} PRIVATE "-Wl,-Map=$<TARGET_FILE:${name}>.map")
  set_target_properties(${name} PROPERTIES RULE_LAUNCH_LINK "sh ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/link_logged.sh" LINKER_LANGUAGE C)
endfunction()
