# Optimization at link time: options of sg_flags, and sg_keep_lto_objects. The linker keeps the objects that it made, because
# they are the inputs of the link, under the names of the map: IMAGE.lto.o, IMAGE.ltrans0.ltrans.o with gcc,
# IMAGE.lto/0.arm64.lto.o for macOS, and IMAGE.lto.SOURCE.o beside each input with thin LTO.

if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  if(SG_LTO STREQUAL "thin")
    set(sg_lto -flto=thin)
  else()
    set(sg_lto -flto=full)
  endif()
  if(APPLE AND SG_LTO STREQUAL "thin")
    message(FATAL_ERROR "SG_LTO=thin is for Linux: ld64.lld gives all its objects one name, which dsymutil cannot tell apart")
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
  # With one partition the result does not depend on the number of processors. Objects do not record that they have no
  # unwind tables: without these options the tables return, 7,600 bytes in the app vision.
  target_link_options(sg_flags INTERFACE
    ${sg_unwind}
    -flto
    -flto-partition=one
    -save-temps
    -ffunction-sections
    -fdata-sections
    "-ffile-prefix-map=${SG_ROOT}=."
    "-ffile-prefix-map=${CMAKE_BINARY_DIR}=build")
endif()
target_compile_options(sg_flags INTERFACE ${sg_lto})
# Only a tool that reads LTO objects writes an index for their archives.
set(CMAKE_AR "${CMAKE_CXX_COMPILER_AR}")
set(CMAKE_RANLIB "${CMAKE_CXX_COMPILER_RANLIB}")

function(sg_keep_lto_objects name)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    return()  # -save-temps does
  endif()
  set(object $<TARGET_FILE_NAME:${name}>.lto.o)
  if(SG_LTO STREQUAL "thin")
    target_link_options(${name} PRIVATE -Wl,--save-temps=prelink)
  elseif(APPLE)
    target_link_options(${name} PRIVATE -Wl,-object_path_lto,$<TARGET_FILE_NAME:${name}>.lto)  # a folder
  else()
    target_link_options(${name} PRIVATE -Wl,-plugin-opt=obj-path=${object})
  endif()
endfunction()
