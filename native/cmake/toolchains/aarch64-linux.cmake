# Builds for 64-bit ARM Linux, with gcc unless a compiler is given: apt-get install g++-aarch64-linux-gnu

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
if(NOT CMAKE_C_COMPILER)
  set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
  set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
endif()
# Only clang uses these. It takes libc and start files from gcc's folders.
set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)
# Clang's default tools for its host cannot read objects of other machines, and would write archives without an index.
find_program(CMAKE_AR aarch64-linux-gnu-ar)
find_program(CMAKE_RANLIB aarch64-linux-gnu-ranlib)
