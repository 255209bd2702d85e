# Optimization at link time: options of sg_flags. The linker leaves the objects that it made of everything beside the
# image, IMAGE.lto…o (lld, LLVM's plugin) or IMAGE.ltrans0.ltrans.o (gcc), since those are what was linked.

if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  if(SG_LTO STREQUAL "thin")
    set(sg_lto -flto=thin)
  else()
    set(sg_lto -flto=full)
  endif()
  target_link_options(sg_flags INTERFACE ${sg_lto} -ffunction-sections -fdata-sections)
else()
  if(SG_LTO STREQUAL "thin")
    message(FATAL_ERROR "SG_LTO=thin is clang's: gcc has full LTO only")
  endif()
  if(SG_LINKER MATCHES "^lld")
    message(FATAL_ERROR "SG_LTO with gcc needs bfd, gold or mold: lld cannot read gcc's LTO objects")
  endif()
  set(sg_lto -flto)
  # One partition: the result does not depend on how many processors there are.
  target_link_options(sg_flags INTERFACE
    -flto
    -flto-partition=one
    -save-temps
    -ffunction-sections
    -fdata-sections
    "-ffile-prefix-map=${SG_ROOT}=."
    "-ffile-prefix-map=${CMAKE_BINARY_DIR}=build")
endif()
target_compile_options(sg_flags INTERFACE ${sg_lto})
# Archives of LTO objects get an index only from a tool that reads them.
set(CMAKE_AR "${CMAKE_CXX_COMPILER_AR}")
set(CMAKE_RANLIB "${CMAKE_CXX_COMPILER_RANLIB}")
