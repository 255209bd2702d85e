# Settings for Apple's systems on Linux. SG_APPLE_MACHINE is arm64 or x86_64, SG_APPLE_SYSTEM is a version such as macos13.0.

set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR ${SG_APPLE_MACHINE})
if(NOT CMAKE_C_COMPILER)
  set(CMAKE_C_COMPILER clang-19)
  set(CMAKE_CXX_COMPILER clang++-19)
endif()
set(CMAKE_C_COMPILER_TARGET ${SG_APPLE_MACHINE}-apple-${SG_APPLE_SYSTEM})
set(CMAKE_CXX_COMPILER_TARGET ${SG_APPLE_MACHINE}-apple-${SG_APPLE_SYSTEM})
# Only our own stub can be linked, so CMake's trial programs are archives.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
find_program(CMAKE_AR llvm-ar-19)
find_program(CMAKE_RANLIB llvm-ranlib-19)
find_program(CMAKE_INSTALL_NAME_TOOL llvm-install-name-tool-19)
