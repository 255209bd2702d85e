# Options of PyTorch's and ExecuTorch's builds. They are accepted if they ask for our behaviour, else refused with our
# equivalent. scripts/build_mobile.sh (docs/examples) takes the same names from the environment.

# Name, our behaviour (ON or OFF), and our equivalent.
set(SG_PYTORCH_OPTIONS
  "BUILD_LITE_INTERPRETER|ON|every program is interpreted, without TorchScript"
  "BUILD_PYTORCH_MOBILE_WITH_HOST_TOOLCHAIN|ON|give -DCMAKE_TOOLCHAIN_FILE for another machine"
  "INTERN_BUILD_MOBILE|ON|there is no other build"
  "BUILD_PYTHON|OFF|the runtime has no Python"
  "BUILD_TEST|OFF|`make test` tests"
  "BUILD_BINARY|OFF|run_program and model_tracer are built anyway"
  "BUILD_CAFFE2|OFF|there is no Caffe2"
  "BUILD_CUSTOM_PROTOBUF|OFF|programs are FlatBuffers"
  "BUILD_JNI|OFF|link the runtime's libraries into a library of your own"
  "BUILD_SHARED_LIBS|OFF|give -DSG_LINK=shared"
  "USE_CUDA|OFF|kernels are for CPUs: CPU and QuantizedCPU"
  "USE_ROCM|OFF|kernels are for CPUs: CPU and QuantizedCPU"
  "USE_VULKAN|OFF|kernels are for CPUs: CPU and QuantizedCPU"
  "USE_METAL|OFF|kernels are for CPUs: CPU and QuantizedCPU"
  "USE_COREML_DELEGATE|OFF|kernels are for CPUs: CPU and QuantizedCPU"
  "USE_DISTRIBUTED|OFF|programs run in one process"
  "USE_MPI|OFF|programs run in one process"
  "USE_OPENMP|OFF|kernels run in one thread"
  "USE_NUMPY|OFF|run_program reads and writes .npy files without NumPy"
  "USE_LIGHTWEIGHT_DISPATCH|OFF|operators are registered by generated code anyway"
  "STATIC_DISPATCH_BACKEND|ON|kernels are for CPUs: STATIC_DISPATCH_BACKEND=CPU"
  "USE_STATIC_DISPATCH|OFF|calls between operators are typed anyway"
  "USE_MKLDNN|OFF|kernels are the runtime's own"
  "USE_FBGEMM|OFF|kernels are the runtime's own"
  "USE_QNNPACK|OFF|kernels are the runtime's own"
  "USE_PYTORCH_QNNPACK|OFF|kernels are the runtime's own"
  "USE_NNPACK|OFF|kernels are the runtime's own"
  "USE_XNNPACK|OFF|kernels are the runtime's own"
  "USE_KINETO|OFF|`sizeguard trace` records what models use"
  "USE_GFLAGS|OFF|options are read without gflags"
  "USE_GLOG|OFF|there is no log"
  "USE_LMDB|OFF|there is no data base"
  "USE_LEVELDB|OFF|there is no data base"
  "USE_OPENCV|OFF|there is no OpenCV")

# Names of ExecuTorch and PyTorch, and their names here.
set(SG_OTHER_NAMES
  "EXECUTORCH_SELECT_OPS_LIST|SELECT_OPS_LIST"
  "EXECUTORCH_SELECT_OPS_YAML|SELECT_OPS_YAML"
  "EXECUTORCH_SELECT_OPS_MODEL|SELECT_OPS_MODEL"
  "EXECUTORCH_SELECT_OPS_FROM_MODEL|SELECT_OPS_MODEL"
  "EXECUTORCH_SELECT_ALL_OPS|SELECT_ALL_OPS"
  "EXECUTORCH_DTYPE_SELECTIVE_BUILD|DTYPE_SELECTIVE_BUILD"
  "EXECUTORCH_ENABLE_DTYPE_SELECTIVE_BUILD|DTYPE_SELECTIVE_BUILD"
  "EXECUTORCH_OPTIMIZE_SIZE|SG_OPTIMIZE"
  "EXECUTORCH_ROOT|none: sources are found from SelectedOperators.cmake"
  "MAX_KERNEL_NUM|none: generated code counts the operators"
  "PYTHON_EXECUTABLE|SIZEGUARD, the sizeguard command"
  "USE_PER_OPERATOR_HEADERS|none: each dtype switch has a header anyway")

# Our options that PyTorch's builds read from the environment.
set(SG_ENVIRONMENT_OPTIONS TRACING_BASED SELECTED_OP_LIST SELECT_ALL_OPS SELECT_OPS_LIST SELECT_OPS_YAML SELECT_OPS_MODEL
  DTYPE_SELECTIVE_BUILD)

# Reads ON, 1, YES, TRUE, Y and their opposites, in any case: ON, OFF, or empty for anything else.
function(sg_switch_value result value)
  string(TOUPPER "${value}" upper)
  if(upper MATCHES "^(ON|1|YES|TRUE|Y)$")
    set(${result} ON PARENT_SCOPE)
  elseif(upper MATCHES "^(OFF|0|NO|FALSE|N|IGNORE|NOTFOUND|)$")
    set(${result} OFF PARENT_SCOPE)
  else()
    set(${result} "" PARENT_SCOPE)
  endif()
endfunction()

# Finds whether a name is an option of PyTorch's builds. The build ends if its value asks for another behaviour.
function(sg_accepts_pytorch_option result name)
  set(${result} OFF PARENT_SCOPE)
  foreach(row IN LISTS SG_PYTORCH_OPTIONS)
    if(NOT row MATCHES "^${name}[|]([A-Z]+)[|](.*)$")
      continue()
    endif()
    set(done "${CMAKE_MATCH_1}")
    set(instead "${CMAKE_MATCH_2}")
    sg_switch_value(asked "${${name}}")
    if(asked STREQUAL "" AND name STREQUAL "STATIC_DISPATCH_BACKEND")
      set(asked ${done})
      if(NOT "${${name}}" STREQUAL "CPU")
        set(asked OFF)
      endif()
    endif()
    if(asked STREQUAL "")
      message(FATAL_ERROR "${name} is ON or OFF, not '${${name}}'")
    elseif(NOT asked STREQUAL done)
      message(FATAL_ERROR "${name}=${${name}} is not possible here: ${instead}")
    endif()
    set(${result} ON PARENT_SCOPE)
  endforeach()
endfunction()

# Finds our name of an option of ExecuTorch or PyTorch; empty if it has none.
function(sg_name_here result name)
  set(${result} "" PARENT_SCOPE)
  foreach(row IN LISTS SG_OTHER_NAMES)
    if(row MATCHES "^${name}[|](.*)$")
      set(${result} "${CMAKE_MATCH_1}" PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# The names in the environment that PyTorch's builds would read.
function(sg_environment_names result)
  set(names ${SG_ENVIRONMENT_OPTIONS})
  foreach(row IN LISTS SG_PYTORCH_OPTIONS)
    string(REGEX REPLACE "[|].*" "" name "${row}")
    list(APPEND names ${name})
  endforeach()
  set(found)
  foreach(name IN LISTS names)
    if(NOT "$ENV{${name}}" STREQUAL "")
      list(APPEND found ${name})
    endif()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# Warns that options in the environment have no effect, unless they are also given to CMake.
function(sg_warn_of_environment)
  sg_environment_names(names)
  set(ignored)
  foreach(name IN LISTS names)
    if(NOT DEFINED CACHE{${name}} OR NOT "$CACHE{${name}}" STREQUAL "$ENV{${name}}")
      list(APPEND ignored "${name}=$ENV{${name}}")
    endif()
  endforeach()
  if(ignored)
    list(JOIN ignored " -D" options)
    message(WARNING "CMake does not read the environment, so these variables have no effect. "
      "Give them as options (-D${options}), or run scripts/build_mobile.sh, which takes them.")
  endif()
endfunction()
