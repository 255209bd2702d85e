# Prints the options that the environment gives in PyTorch's builds, a line each: cmake -P environment.cmake

include("${CMAKE_CURRENT_LIST_DIR}/PyTorchOptions.cmake")
sg_environment_names(names)
foreach(name IN LISTS names)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E echo "-D${name}=$ENV{${name}}")
endforeach()
