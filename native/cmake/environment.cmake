# Prints the options that PyTorch's builds read from the environment, one a line: cmake -P environment.cmake

include("${CMAKE_CURRENT_LIST_DIR}/PyTorchOptions.cmake")
sg_environment_names(names)
foreach(name IN LISTS names)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E echo "-D${name}=$ENV{${name}}")
endforeach()
