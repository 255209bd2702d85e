# Headers of other systems: options of sg_flags.

# The headers of FlatBuffers are among this machine's headers, which must not be found: copy them into a build folder.
function(sg_flatbuffers_headers folder)
  find_path(SG_FLATBUFFERS flatbuffers/flatbuffers.h
    PATHS /usr/include /usr/local/include /opt/homebrew/include
    NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
  mark_as_advanced(SG_FLATBUFFERS)
  if(NOT SG_FLATBUFFERS)
    message(FATAL_ERROR "flatbuffers/flatbuffers.h was not found: apt-get install libflatbuffers-dev")
  endif()
  file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/${folder}")
  file(CREATE_LINK "${SG_FLATBUFFERS}/flatbuffers" "${CMAKE_BINARY_DIR}/${folder}/flatbuffers" SYMBOLIC)
  target_compile_options(sg_flags INTERFACE "SHELL:-isystem \"${CMAKE_BINARY_DIR}/${folder}\"")
endfunction()

# Uses headers of the Python package ziglang for a system whose headers are not installed.
#
#   HEADERS    the lib folder of the package
#   LIBC       folders of libc/include, in the order of the search
#   FOLDER     a folder of the build, for the headers of FlatBuffers
#   THREADS    whether the libc has the threads that libc++ asks for: 0 or 1
#   MUSL       whether the libc is musl: 0 or 1
#   NAMESPACE  of libc++, which its symbols have
function(sg_zig_headers)
  cmake_parse_arguments(arg "" "HEADERS;FOLDER;THREADS;MUSL;NAMESPACE" "LIBC" ${ARGN})
  if(NOT EXISTS "${arg_HEADERS}/libcxx/include/__config")
    message(FATAL_ERROR "SG_MACOS_HEADERS or SG_ANDROID_HEADERS is the lib folder of the Python package ziglang: pip install ziglang")
  endif()

  # libc++ requires this order: its own headers, the compiler's, the system's. Zig's build of libc++ sets the same macros for
  # the platform. libc++ warns of every older clang; all of our sources compile.
  target_compile_options(sg_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-nostdinc++>"
    -nostdlibinc
    "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-isystem \"${arg_HEADERS}/libcxx/include\">"
    "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-isystem \"${arg_HEADERS}/libcxxabi/include\">")
  foreach(folder IN LISTS arg_LIBC)
    target_compile_options(sg_flags INTERFACE "SHELL:-idirafter \"${arg_HEADERS}/libc/include/${folder}\"")
  endforeach()
  sg_flatbuffers_headers(${arg_FOLDER})
  target_compile_options(sg_flags INTERFACE
    "-ffile-prefix-map=${arg_HEADERS}=macos"
    "-Wno-#warnings"
    -D_LIBCPP_ABI_VERSION=1
    -D_LIBCPP_ABI_NAMESPACE=${arg_NAMESPACE}
    -D_LIBCPP_HAS_THREADS=${arg_THREADS}
    -D_LIBCPP_HAS_MONOTONIC_CLOCK
    -D_LIBCPP_HAS_TERMINAL
    -D_LIBCPP_HAS_MUSL_LIBC=${arg_MUSL}
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
endfunction()
