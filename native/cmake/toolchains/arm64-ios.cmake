# Builds for iOS on arm64. A Mac uses Xcode. On Linux clang-19 compiles, and ld64.lld links against the stub of libSystem in
# macos/, which has the same names.

if(CMAKE_HOST_APPLE)
  set(CMAKE_SYSTEM_NAME iOS)
  set(CMAKE_OSX_SYSROOT iphoneos)
  set(CMAKE_OSX_ARCHITECTURES arm64)
  set(CMAKE_OSX_DEPLOYMENT_TARGET 15.0)
  # CMake's trial programs need no signature.
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
else()
  set(SG_APPLE_MACHINE arm64)
  set(SG_APPLE_SYSTEM ios15.0)
  include("${CMAKE_CURRENT_LIST_DIR}/macos/apple.cmake")
endif()
