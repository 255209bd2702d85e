# What builds for macOS share. SG_MACOS_MACHINE is arm64 or x86_64.

set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR ${SG_MACOS_MACHINE})
if(NOT CMAKE_C_COMPILER)
  set(CMAKE_C_COMPILER clang-19)
  set(CMAKE_CXX_COMPILER clang++-19)
endif()
set(CMAKE_C_COMPILER_TARGET ${SG_MACOS_MACHINE}-apple-macos13.0)
set(CMAKE_CXX_COMPILER_TARGET ${SG_MACOS_MACHINE}-apple-macos13.0)
# Nothing but our own stub can be linked: CMake's trial programs end as archives.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
find_program(CMAKE_AR llvm-ar-19)
find_program(CMAKE_RANLIB llvm-ranlib-19)
find_program(CMAKE_INSTALL_NAME_TOOL llvm-install-name-tool-19)
