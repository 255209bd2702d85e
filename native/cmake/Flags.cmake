# Flags of all compiles and links: the target sg_flags.

if(TARGET sg_flags)
  return()
endif()

if(NOT SG_OPTIMIZE MATCHES "^-O[0123s]$")
  message(FATAL_ERROR "SG_OPTIMIZE is -Os or -O2, not ${SG_OPTIMIZE}")
endif()
if(NOT SG_LINKER MATCHES "^(|bfd|gold|lld|lld-[0-9]+|mold)$")
  message(FATAL_ERROR "SG_LINKER is bfd, gold, lld or mold, not ${SG_LINKER}")
endif()
if(NOT DEFINED SG_LINK)
  set(SG_LINK executable)  # of a project that includes this one without Options
endif()
if(NOT SG_LINK MATCHES "^(executable|static|static-pie|shared)$")
  message(FATAL_ERROR "SG_LINK is executable, static, static-pie or shared, not ${SG_LINK}")
endif()
if(NOT "${SG_LTO}" MATCHES "^(|full|thin)$")
  message(FATAL_ERROR "SG_LTO is full or thin, not ${SG_LTO}")
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
  # Results must not depend on the rest of the selection or on the compiler.
  -ffp-contract=off
  -fno-math-errno
  # Calls through the GOT make the core 200 bytes smaller than stubs. Assertions of FlatBuffers would cost 3,000 bytes.
  -fno-plt
  -DNDEBUG
  # Keep paths of this machine out of binaries. The last map that matches applies.
  "-ffile-prefix-map=${SG_ROOT}=."
  "-ffile-prefix-map=${CMAKE_BINARY_DIR}=build"
  -Wall -Wextra -Werror
  "$<$<COMPILE_LANGUAGE:CXX>:-std=c++20;-fvisibility-inlines-hidden;-fno-rtti;-fno-threadsafe-statics>")
set(sg_unwind)
if(NOT SG_UNWIND_TABLES)
  set(sg_unwind -fno-asynchronous-unwind-tables -fno-unwind-tables)
  target_compile_options(sg_flags INTERFACE ${sg_unwind})
endif()

if(SG_LTO)
  include(Lto)
endif()
set(sg_headers)
if(APPLE)
  set(sg_headers SG_MACOS_HEADERS)
  include(LinkMacos)
elseif(CMAKE_SYSTEM_NAME STREQUAL "Android" OR SG_ANDROID_NAMES)
  set(sg_headers SG_ANDROID_HEADERS)
  include(LinkAndroid)
else()
  include(LinkLinux)
endif()
foreach(name SG_MACOS_HEADERS SG_ANDROID_HEADERS)
  if(${name} AND NOT name STREQUAL "${sg_headers}")
    message(FATAL_ERROR "${name} has no effect on a build for ${CMAKE_SYSTEM_NAME}")
  endif()
endforeach()

if(SG_SANITIZE)
  target_compile_options(sg_flags INTERFACE -fsanitize=${SG_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(sg_flags INTERFACE -fsanitize=${SG_SANITIZE})
endif()

# Archives keep the given order, and have no time stamps or user ids. Apple's tools lack -D.
if(NOT CMAKE_HOST_APPLE)
  set(CMAKE_CXX_ARCHIVE_CREATE "<CMAKE_AR> qcD <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_CXX_ARCHIVE_APPEND "<CMAKE_AR> qD <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_CXX_ARCHIVE_FINISH "<CMAKE_RANLIB> -D <TARGET>")
endif()

# Makes an executable, or the kind of file that SG_LINK names. The C driver links it, so that libstdc++ is not pulled in.
# The map and the gc log are written next to it.
function(sg_executable name)
  sg_link_beside_map(${name})
  if(SG_LTO)
    sg_keep_lto_objects(${name})
  endif()
  # Keep paths of this machine out: build without a RUNPATH, as for installation.
  set_target_properties(${name} PROPERTIES
    BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH ""
    BUILD_WITH_INSTALL_NAME_DIR ON
    INSTALL_NAME_DIR "@rpath"
    RULE_LAUNCH_LINK "sh \"${CMAKE_CURRENT_FUNCTION_LIST_DIR}/link_logged.sh\"" LINKER_LANGUAGE C)
endfunction()
