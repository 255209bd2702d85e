# Builds for Android 11 and later on 64-bit ARM, for pages of 4 and of 16 KiB. With the NDK that the environment variable
# ANDROID_NDK, ANDROID_NDK_HOME or ANDROID_NDK_ROOT names; without one, clang-19 and lld link against the lists of bionic's names
# in android/.

set(sg_ndk)
foreach(name ANDROID_NDK ANDROID_NDK_HOME ANDROID_NDK_ROOT)
  if(NOT sg_ndk AND NOT "$ENV{${name}}" STREQUAL "")
    set(sg_ndk "$ENV{${name}}")
  endif()
endforeach()
if(sg_ndk)
  set(ANDROID_ABI arm64-v8a)
  set(ANDROID_PLATFORM android-30)
  set(ANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES ON)
  include("${sg_ndk}/build/cmake/android.toolchain.cmake")
else()
  # CMake's Android platform requires an NDK.
  set(CMAKE_SYSTEM_NAME Linux)
  set(CMAKE_SYSTEM_PROCESSOR aarch64)
  set(SG_ANDROID_NAMES "${CMAKE_CURRENT_LIST_DIR}/android")
  if(NOT CMAKE_C_COMPILER)
    set(CMAKE_C_COMPILER clang-19)
    set(CMAKE_CXX_COMPILER clang++-19)
  endif()
  set(CMAKE_C_COMPILER_TARGET aarch64-linux-android30)
  set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-android30)
  # Only our own stubs can be linked, so CMake's trial programs are archives.
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  find_program(CMAKE_AR llvm-ar-19)
  find_program(CMAKE_RANLIB llvm-ranlib-19)
endif()
