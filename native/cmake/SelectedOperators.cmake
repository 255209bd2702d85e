# Builds with selected operators: ExecuTorch's functions and argument names, driven by `sizeguard codegen`.
#
#   gen_selected_ops(LIB_NAME my_ops ROOT_OPS aten::add.Tensor,aten::mul.Tensor)
#   generate_bindings_for_kernels(LIB_NAME my_ops FUNCTIONS_YAML operators.yaml CUSTOM_OPS_YAML my_operators.yaml)
#   gen_operators_lib(LIB_NAME my_ops KERNEL_LIBS sg_kernels my_kernels DEPS sg_runtime)
#   target_link_libraries(my_app PRIVATE my_ops)
#
# Calls without keywords work as in ExecuTorch's first releases:
#
#   gen_selected_ops("${ops_schema_yaml}" "${root_ops}" "${include_all_ops}")
#   generate_bindings_for_kernels("${functions_yaml}" "${custom_ops_yaml}")
#   gen_operators_lib(my_ops KERNEL_LIBS sg_kernels DEPS sg_runtime)
#
# Names may be ExecuTorch's: aten::add.out is aten::add.Tensor, by native/operators/pytorch_names.yaml.
#
# The selection and its models are build dependencies. Each dtype switch has its own header, which is written only when its
# content changes. So a changed selection recompiles only the sources that it affects.

include_guard(GLOBAL)
include("${CMAKE_CURRENT_LIST_DIR}/PyTorchOptions.cmake")

# The folder of this project; a property, because callers may be in folders that do not see our variables.
get_filename_component(root "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
set_property(GLOBAL PROPERTY SG_ROOT "${root}")

# Finds the sizeguard command: -DSIZEGUARD, then this project's .venv, then beside the Python interpreter, then PATH.
function(_sg_find_sizeguard)
  get_property(root GLOBAL PROPERTY SG_ROOT)
  if(SIZEGUARD)
    set(found "${SIZEGUARD}")
  else()
    find_program(SG_PYTHON python3)
    mark_as_advanced(SG_PYTHON)
    get_filename_component(beside "${SG_PYTHON}" DIRECTORY)
    find_program(SG_SIZEGUARD sizeguard HINTS "${root}/.venv/bin" "${beside}")
    mark_as_advanced(SG_SIZEGUARD)
    set(found "${SG_SIZEGUARD}")
  endif()
  if(NOT EXISTS "${found}")
    message(FATAL_ERROR "The sizeguard command was not found: run `make setup`, or give -DSIZEGUARD=path")
  endif()
  set_property(GLOBAL PROPERTY SG_SIZEGUARD_COMMAND "${found}")
endfunction()
_sg_find_sizeguard()

# The files that generate code, as the command lists them. A change of one generates and configures again, because the file
# may import others now.
function(_sg_find_generator)
  get_property(sizeguard GLOBAL PROPERTY SG_SIZEGUARD_COMMAND)
  execute_process(COMMAND "${sizeguard}" codegen --inputs
    RESULT_VARIABLE status OUTPUT_VARIABLE files ERROR_VARIABLE message)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "sizeguard codegen --inputs:\n${message}")
  endif()
  string(STRIP "${files}" files)
  string(REPLACE "\n" ";" files "${files}")
  set_property(GLOBAL PROPERTY SG_GENERATOR_FILES "${files}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${files}")
endfunction()
_sg_find_generator()

# Parses ARGN into arg_NAME for each of the names; anything else that looks like an argument's name is an error.
macro(_sg_arguments function names)
  cmake_parse_arguments(arg "" "" "${names}" ${ARGN})
  set(unknown ${arg_UNPARSED_ARGUMENTS})
  set(known ${names})
  foreach(word ${ARGN})
    if(word MATCHES "^[A-Z][A-Z_]*$" AND NOT word MATCHES "^(ON|OFF|TRUE|FALSE|YES|NO)$" AND NOT word IN_LIST known)
      list(APPEND unknown ${word})
    endif()
  endforeach()
  if(unknown)
    message(FATAL_ERROR "${function}: unknown arguments ${unknown}; there are ${names}")
  endif()
  if(NOT arg_LIB_NAME)
    message(FATAL_ERROR "${function}: LIB_NAME is missing")
  endif()
endmacro()

# The LIB_NAME of a selection that was made without keywords.
set_property(GLOBAL PROPERTY SG_UNNAMED selected_ops)

# The name under which properties of LIB_NAME are stored: LIB_NAME, or the name of the selection without keywords.
function(_sg_named result lib_name property)
  get_property(own GLOBAL PROPERTY SG_${lib_name}_${property})
  get_property(unnamed GLOBAL PROPERTY SG_UNNAMED)
  if(own)
    set(${result} ${lib_name} PARENT_SCOPE)
  else()
    set(${result} ${unnamed} PARENT_SCOPE)
  endif()
endfunction()

# Finds whether the first argument of a call is a keyword of its function.
function(_sg_has_keywords result names)
  set(${result} OFF PARENT_SCOPE)
  if("${ARGV2}" IN_LIST names OR "${ARGV2}" MATCHES "^[A-Z][A-Z_]+$")
    set(${result} ON PARENT_SCOPE)
  endif()
endfunction()

# Drops OFF and its synonyms, which ExecuTorch's projects pass for missing arguments. ON is an error: it is not a name or path.
function(_sg_given result function keyword)
  set(given)
  foreach(value IN LISTS ARGN)
    sg_switch_value(asked "${value}")
    if(asked STREQUAL "ON")
      message(FATAL_ERROR "${function}: ${keyword} is not ${value}: give the names or paths")
    elseif(asked STREQUAL "")
      list(APPEND given "${value}")
    endif()
  endforeach()
  set(${result} ${given} PARENT_SCOPE)
endfunction()

# Files as absolute paths, each after the option: --selection /…/a.yaml --selection /…/b.yaml
function(_sg_file_options result option)
  set(options)
  foreach(file IN LISTS ARGN)
    get_filename_component(file "${file}" ABSOLUTE)
    list(APPEND options ${option} "${file}")
  endforeach()
  set(${result} ${options} PARENT_SCOPE)
endfunction()

# Runs `sizeguard codegen` now, so that its outputs are known, and whenever one of DEPENDS changes. A changed list of
# outputs (a kernel got a new tag) configures again.
function(_sg_codegen target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUTPUT_DIR" "ARGUMENTS;DEPENDS")
  get_property(sizeguard GLOBAL PROPERTY SG_SIZEGUARD_COMMAND)
  get_property(root GLOBAL PROPERTY SG_ROOT)
  set(stamp "${arg_OUTPUT_DIR}/codegen.stamp")
  set(command "${sizeguard}" codegen ${arg_ARGUMENTS} --output-dir "${arg_OUTPUT_DIR}" --stamp "${stamp}")
  execute_process(COMMAND ${command} RESULT_VARIABLE status ERROR_VARIABLE message OUTPUT_VARIABLE message)
  if(NOT status EQUAL 0)
    string(STRIP "${message}" message)
    message(FATAL_ERROR "sizeguard codegen for ${target}:\n${message}")
  endif()
  string(STRIP "${message}" message)
  if(message MATCHES "(^|\n)warning: ")
    string(REPLACE "\n" "\n  " message "${message}")  # CMake wraps lines that are not indented
    message(WARNING "sizeguard codegen for ${target}:\n  ${message}")
  elseif(message)
    message(STATUS "sizeguard codegen for ${target}:\n${message}")
  endif()
  file(STRINGS "${arg_OUTPUT_DIR}/outputs.txt" outputs)
  list(TRANSFORM outputs PREPEND "${arg_OUTPUT_DIR}/")
  get_property(generator GLOBAL PROPERTY SG_GENERATOR_FILES)
  add_custom_command(
    OUTPUT "${stamp}"
    BYPRODUCTS ${outputs} "${arg_OUTPUT_DIR}/outputs.txt"
    COMMAND ${command}
    DEPENDS ${arg_DEPENDS} ${generator}
    COMMENT "Generating ${target}"
    VERBATIM)
  add_custom_target(${target} DEPENDS "${stamp}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${arg_OUTPUT_DIR}/outputs.txt")
endfunction()

# Writes the union of an app's selections to <build>/<LIB_NAME>/selected_operators.yaml. gen_selected_ops_output_yaml is set
# to its path.
#
#   OPS_SCHEMA_YAML        keep all operators of this operators.yaml
#   ROOT_OPS               keep these, by name
#   INCLUDE_ALL_OPS        keep everything
#   OPS_FROM_MODEL         keep the operators that these model files name
#   SELECTED_OP_LIST       selection files, such as `sizeguard trace` writes; kept as they are, without callees. Those of
#                          PyTorch and ExecuTorch are translated, and bring their callees
#   DTYPE_SELECTIVE_BUILD  the selection says which dtypes to keep, too: SELECTED_OP_LIST must, or OPS_FROM_MODEL
#   OP_DEPS                further op_deps.yaml files, for the operators of other kernel libraries
#   EXACT                  do not keep callees of those operators; they fail when they call one
#
# Operators call operators. Callees of OPS_SCHEMA_YAML, ROOT_OPS and OPS_FROM_MODEL are kept, too, by
# native/operators/op_deps.yaml, which `sizeguard select static --op-deps` writes from the full build.
function(gen_selected_ops)
  set(names LIB_NAME OPS_SCHEMA_YAML ROOT_OPS INCLUDE_ALL_OPS OPS_FROM_MODEL SELECTED_OP_LIST DTYPE_SELECTIVE_BUILD OP_DEPS
    EXACT)
  _sg_has_keywords(keywords "${names}" "${ARGV0}")
  if(keywords)
    _sg_arguments(gen_selected_ops "${names}" ${ARGN})
  elseif(ARGC GREATER_EQUAL 3)
    cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "OPS_FROM_MODEL;SELECTED_OP_LIST;DTYPE_SELECTIVE_BUILD;OP_DEPS;EXACT")
    if(arg_UNPARSED_ARGUMENTS)
      message(FATAL_ERROR "gen_selected_ops: unknown arguments ${arg_UNPARSED_ARGUMENTS}; there are ${names}")
    endif()
    get_property(arg_LIB_NAME GLOBAL PROPERTY SG_UNNAMED)
    set(arg_OPS_SCHEMA_YAML "${ARGV0}")
    set(arg_ROOT_OPS "${ARGV1}")
    set(arg_INCLUDE_ALL_OPS "${ARGV2}")
  else()
    message(FATAL_ERROR "gen_selected_ops: its arguments without keywords are OPS_SCHEMA_YAML, ROOT_OPS and INCLUDE_ALL_OPS")
  endif()
  foreach(keyword OPS_SCHEMA_YAML ROOT_OPS OPS_FROM_MODEL SELECTED_OP_LIST OP_DEPS)
    _sg_given(arg_${keyword} "gen_selected_ops(${arg_LIB_NAME})" ${keyword} ${arg_${keyword}})
  endforeach()
  set(named ${arg_OPS_SCHEMA_YAML} ${arg_ROOT_OPS} ${arg_OPS_FROM_MODEL} ${arg_SELECTED_OP_LIST})
  if(arg_INCLUDE_ALL_OPS AND named)
    message(FATAL_ERROR "gen_selected_ops(${arg_LIB_NAME}): INCLUDE_ALL_OPS leaves nothing to select; drop it or ${named}")
  endif()
  if(arg_DTYPE_SELECTIVE_BUILD AND NOT arg_SELECTED_OP_LIST AND NOT arg_OPS_FROM_MODEL)
    message(FATAL_ERROR "gen_selected_ops(${arg_LIB_NAME}): DTYPE_SELECTIVE_BUILD has no effect without dtypes: "
      "give SELECTED_OP_LIST, which `sizeguard trace` writes")
  endif()
  if(arg_INCLUDE_ALL_OPS)
    set(options --all-operators)
  elseif(named)
    _sg_file_options(schemas --ops-schema-yaml ${arg_OPS_SCHEMA_YAML})
    _sg_file_options(models --ops-from-model ${arg_OPS_FROM_MODEL})
    _sg_file_options(selections --selection ${arg_SELECTED_OP_LIST})
    set(options ${schemas} ${models} ${selections})
    if(arg_ROOT_OPS)
      list(JOIN arg_ROOT_OPS "," names)
      list(APPEND options --root-ops "${names}")
    endif()
  else()
    message(FATAL_ERROR "gen_selected_ops(${arg_LIB_NAME}): nothing is selected; give ROOT_OPS, OPS_FROM_MODEL, "
      "OPS_SCHEMA_YAML, SELECTED_OP_LIST or INCLUDE_ALL_OPS")
  endif()
  get_property(root GLOBAL PROPERTY SG_ROOT)
  set(sources)
  if(arg_DTYPE_SELECTIVE_BUILD)
    list(APPEND options --require-dtypes)
    if(arg_OPS_FROM_MODEL)
      set(sources "${root}/native/runtime" "${root}/native/operators" "${root}/native/prepacked")
    endif()
    _sg_file_options(kernels --kernel-sources ${sources})
    list(APPEND options ${kernels})
  endif()
  set(deps)
  if(arg_EXACT AND arg_OP_DEPS)
    message(FATAL_ERROR "gen_selected_ops(${arg_LIB_NAME}): EXACT leaves nothing to OP_DEPS; drop one of them")
  endif()
  if(NOT arg_INCLUDE_ALL_OPS)
    set(deps "${root}/native/operators/op_deps.yaml" ${arg_OP_DEPS})
    _sg_file_options(callees --op-deps ${deps})
    set(translation "${root}/native/operators/pytorch_names.yaml")
    list(APPEND options ${callees} --pytorch-names "${translation}")
    list(APPEND deps "${translation}")
    if(arg_EXACT)
      list(APPEND options --exact)
    endif()
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${arg_LIB_NAME}")
  set(files ${arg_OPS_SCHEMA_YAML} ${arg_OPS_FROM_MODEL} ${arg_SELECTED_OP_LIST} ${deps} ${sources})
  list(TRANSFORM files REPLACE "^([^/].*)$" "${CMAKE_CURRENT_SOURCE_DIR}/\\1")
  _sg_codegen(${arg_LIB_NAME}_selection
    OUTPUT_DIR "${folder}"
    ARGUMENTS --selection-only ${options}
    DEPENDS ${files})
  set(gen_selected_ops_output_yaml "${folder}/selected_operators.yaml")
  set_property(GLOBAL PROPERTY SG_${arg_LIB_NAME}_YAML "${gen_selected_ops_output_yaml}")
  set(gen_selected_ops_output_yaml "${gen_selected_ops_output_yaml}" PARENT_SCOPE)
endfunction()

# Generates registrations, typed operator calls and selection headers for the selection of gen_selected_ops.
#
#   FUNCTIONS_YAML, CUSTOM_OPS_YAML  the operators of the kernel libraries, resolved together: overlaps are an error
#   KERNEL_SOURCES                   folders of further kernels that hold dtype switches
#   DTYPE_SELECTIVE_BUILD            dtypes as selected; all dtypes otherwise
#   SHARED_WITH                      further LIB_NAMEs whose apps run on the same kernels and runtime: their dtypes and
#                                    features are kept too
#   LIBRARY                          the name that operators are registered under, LIB_NAME otherwise
function(generate_bindings_for_kernels)
  set(names LIB_NAME FUNCTIONS_YAML CUSTOM_OPS_YAML KERNEL_SOURCES DTYPE_SELECTIVE_BUILD SHARED_WITH LIBRARY)
  set(arguments ${ARGN})
  list(REMOVE_ITEM arguments ADD_EXCEPTION_BOUNDARY)  # kernels throw nothing
  _sg_has_keywords(keywords "${names}" "${ARGV0}")
  if(keywords)
    get_property(unnamed GLOBAL PROPERTY SG_UNNAMED)
    get_property(selection GLOBAL PROPERTY SG_${unnamed}_YAML)
    if(selection AND NOT "LIB_NAME" IN_LIST arguments)
      list(APPEND arguments LIB_NAME ${unnamed})
    endif()
    _sg_arguments(generate_bindings_for_kernels "${names}" ${arguments})
  elseif(ARGC LESS_EQUAL 2)
    get_property(arg_LIB_NAME GLOBAL PROPERTY SG_UNNAMED)
    set(arg_FUNCTIONS_YAML "${ARGV0}")
    set(arg_CUSTOM_OPS_YAML "${ARGV1}")
  else()
    message(FATAL_ERROR "generate_bindings_for_kernels: its arguments without keywords are FUNCTIONS_YAML and CUSTOM_OPS_YAML")
  endif()
  _sg_given(arg_CUSTOM_OPS_YAML "generate_bindings_for_kernels(${arg_LIB_NAME})" CUSTOM_OPS_YAML ${arg_CUSTOM_OPS_YAML})
  _sg_named(arg_LIB_NAME ${arg_LIB_NAME} YAML)
  get_property(selection GLOBAL PROPERTY SG_${arg_LIB_NAME}_YAML)
  if(NOT selection)
    message(FATAL_ERROR "generate_bindings_for_kernels(${arg_LIB_NAME}): call gen_selected_ops first")
  endif()
  if(NOT arg_FUNCTIONS_YAML AND NOT arg_CUSTOM_OPS_YAML)
    message(FATAL_ERROR "generate_bindings_for_kernels(${arg_LIB_NAME}): give FUNCTIONS_YAML, CUSTOM_OPS_YAML or both")
  endif()
  set(library ${arg_LIBRARY})
  if(NOT library)
    set(library ${arg_LIB_NAME})
  endif()
  set(selections "${selection}")
  set(shared)
  foreach(other IN LISTS arg_SHARED_WITH)
    get_property(yaml GLOBAL PROPERTY SG_${other}_YAML)
    if(NOT yaml)
      message(FATAL_ERROR "generate_bindings_for_kernels(${arg_LIB_NAME}): call gen_selected_ops for ${other} first")
    endif()
    list(APPEND selections "${yaml}")
    list(APPEND shared --shared-with "${yaml}")
  endforeach()
  get_property(root GLOBAL PROPERTY SG_ROOT)
  set(sources "${root}/native/runtime" "${root}/native/operators" "${root}/native/prepacked" ${arg_KERNEL_SOURCES})
  _sg_file_options(yamls --operators-yaml ${arg_FUNCTIONS_YAML} ${arg_CUSTOM_OPS_YAML})
  _sg_file_options(kernels --kernel-sources ${sources})
  set(options --library-name ${library} --selection "${selection}" ${shared} ${yamls} ${kernels})
  if(NOT arg_DTYPE_SELECTIVE_BUILD AND NOT arg_SHARED_WITH)
    list(APPEND options --all-dtypes)
  endif()
  set(files)
  foreach(folder IN LISTS sources)
    get_filename_component(folder "${folder}" ABSOLUTE)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS "${folder}/*.cpp" "${folder}/*.h")
    list(APPEND files ${found})
  endforeach()
  foreach(yaml IN LISTS arg_FUNCTIONS_YAML arg_CUSTOM_OPS_YAML)
    get_filename_component(yaml "${yaml}" ABSOLUTE)
    list(APPEND files "${yaml}")
  endforeach()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${arg_LIB_NAME}/code")
  _sg_codegen(${arg_LIB_NAME}_code OUTPUT_DIR "${folder}" ARGUMENTS ${options} DEPENDS ${selections} ${files})
  set_property(GLOBAL PROPERTY SG_${arg_LIB_NAME}_CODE "${folder}")
endfunction()

# Compiles a target against the headers that generate_bindings_for_kernels made for LIB_NAME.
function(sg_use_selection target lib_name)
  _sg_named(lib_name ${lib_name} CODE)
  get_property(folder GLOBAL PROPERTY SG_${lib_name}_CODE)
  if(NOT folder)
    message(FATAL_ERROR "sg_use_selection(${target}): call generate_bindings_for_kernels for ${lib_name} first")
  endif()
  target_include_directories(${target} PRIVATE "${folder}")
  add_dependencies(${target} ${lib_name}_code sg_schema)
  # Installed targets do not get these flags: an app has its own.
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:sg_flags>)
  set_property(TARGET ${target} PROPERTY SG_SELECTIVE ON)
endfunction()

# Makes the library that an app links: registrations, kernels and runtime. The app gets the initializers as objects, because
# a linker may skip them in an archive.
#
#   KERNEL_LIBS            kernel libraries, sg_kernels among them
#   DEPS                   the runtime and other libraries
#   DTYPE_SELECTIVE_BUILD  kernels and runtime are built again for this app, with its dtypes and features; shared otherwise
#   SOURCES                further sources that register operators by hand
function(gen_operators_lib)
  set(names LIB_NAME KERNEL_LIBS DEPS DTYPE_SELECTIVE_BUILD SOURCES)
  _sg_has_keywords(keywords "${names}" "${ARGV0}")
  if(keywords)
    _sg_arguments(gen_operators_lib "${names}" ${ARGN})
  else()
    _sg_arguments(gen_operators_lib "${names}" LIB_NAME ${ARGN})
  endif()
  _sg_named(selection ${arg_LIB_NAME} CODE)
  get_property(folder GLOBAL PROPERTY SG_${selection}_CODE)
  if(NOT folder)
    message(FATAL_ERROR "gen_operators_lib(${arg_LIB_NAME}): call generate_bindings_for_kernels first")
  endif()
  if(NOT arg_KERNEL_LIBS)
    message(FATAL_ERROR "gen_operators_lib(${arg_LIB_NAME}): KERNEL_LIBS is missing; the kernels of this project are sg_kernels")
  endif()
  get_property(root GLOBAL PROPERTY SG_ROOT)
  file(GLOB by_hand CONFIGURE_DEPENDS "${root}/native/prepacked/*.cpp")
  set(registered "${folder}/generated/RegisterCPU.cpp" "${folder}/generated/RegisterQuantizedCPU.cpp" "${folder}/generated/ops.cpp")
  set_source_files_properties(${registered} PROPERTIES GENERATED TRUE)
  set(objects ${arg_LIB_NAME}_objects)
  add_library(${objects} OBJECT ${registered} "${root}/native/operators/primitive.cpp" ${by_hand} ${arg_SOURCES})
  sg_use_selection(${objects} ${arg_LIB_NAME})

  # An app compiles against the runtime's headers, which depend on the selection.
  add_library(${arg_LIB_NAME} INTERFACE)
  target_include_directories(${arg_LIB_NAME} INTERFACE "${folder}")
  add_dependencies(${arg_LIB_NAME} ${selection}_code)
  target_sources(${arg_LIB_NAME} INTERFACE $<TARGET_OBJECTS:${objects}>)
  # An app has one such library: two would register operators twice. CMake reports an error if two differ in this property.
  set_target_properties(${arg_LIB_NAME} PROPERTIES
    INTERFACE_GENERATED_OPERATORS_OF_ONE_LIBRARY ${arg_LIB_NAME}
    COMPATIBLE_INTERFACE_STRING GENERATED_OPERATORS_OF_ONE_LIBRARY)
  foreach(library IN LISTS arg_KERNEL_LIBS arg_DEPS)
    get_target_property(selective ${library} SG_SELECTIVE)
    if(arg_DTYPE_SELECTIVE_BUILD AND selective)
      _sg_build_again(own ${library} ${arg_LIB_NAME})
      target_link_libraries(${arg_LIB_NAME} INTERFACE ${own})
    elseif(arg_DTYPE_SELECTIVE_BUILD AND library IN_LIST arg_KERNEL_LIBS)
      message(FATAL_ERROR "gen_operators_lib(${arg_LIB_NAME}): DTYPE_SELECTIVE_BUILD has no effect on ${library}: "
        "call sg_use_selection(${library} …) on it, so that it can be built again")
    else()
      target_link_libraries(${arg_LIB_NAME} INTERFACE ${library})
    endif()
  endforeach()
endfunction()

# Builds the sources of a library again, against the headers of LIB_NAME. The result is the name of the new library.
function(_sg_build_again result library lib_name)
  set(own ${lib_name}_${library})
  get_target_property(sources ${library} SOURCES)
  get_target_property(folder ${library} SOURCE_DIR)
  list(TRANSFORM sources REPLACE "^([^/$].*)$" "${folder}/\\1")
  add_library(${own} STATIC EXCLUDE_FROM_ALL ${sources})
  get_target_property(definitions ${library} COMPILE_DEFINITIONS)
  if(definitions)
    target_compile_definitions(${own} PRIVATE ${definitions})
  endif()
  sg_use_selection(${own} ${lib_name})
  set(${result} ${own} PARENT_SCOPE)
endfunction()

# Builds kernel libraries again, once, for several apps: sg_share_kernels(LIB_NAME apps FROM vision_ops KERNEL_LIBS sg_kernels
# sg_runtime) makes apps_sg_kernels and apps_sg_runtime with the headers of vision_ops, whose SHARED_WITH names the others.
function(sg_share_kernels)
  _sg_arguments(sg_share_kernels "LIB_NAME;FROM;KERNEL_LIBS" ${ARGN})
  foreach(library IN LISTS arg_KERNEL_LIBS)
    _sg_build_again(own ${library} ${arg_FROM})
    add_library(${arg_LIB_NAME}_${library} ALIAS ${own})
  endforeach()
endfunction()

# Merges two lists of operators into OUTPUT_DIR/merged.yaml. For an operator in both, the entry of FUNCTIONS_YAML is used.
function(merge_yaml)
  cmake_parse_arguments(arg "" "FUNCTIONS_YAML;FALLBACK_YAML;OUTPUT_DIR" "" ${ARGN})
  foreach(keyword FUNCTIONS_YAML FALLBACK_YAML OUTPUT_DIR)
    if(NOT arg_${keyword})
      message(FATAL_ERROR "merge_yaml: ${keyword} is missing")
    endif()
    get_filename_component(arg_${keyword} "${arg_${keyword}}" ABSOLUTE)
  endforeach()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "merge_yaml: unknown arguments ${arg_UNPARSED_ARGUMENTS}; there are FUNCTIONS_YAML, FALLBACK_YAML, OUTPUT_DIR")
  endif()
  get_property(sizeguard GLOBAL PROPERTY SG_SIZEGUARD_COMMAND)
  execute_process(
    COMMAND "${sizeguard}" codegen --merge-yaml "${arg_FUNCTIONS_YAML}" "${arg_FALLBACK_YAML}" --output-dir "${arg_OUTPUT_DIR}"
    RESULT_VARIABLE status OUTPUT_VARIABLE message ERROR_VARIABLE message)
  if(NOT status EQUAL 0)
    string(STRIP "${message}" message)
    message(FATAL_ERROR "merge_yaml:\n${message}")
  endif()
  # A changed list configures again, because the generated files are listed then.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${arg_FUNCTIONS_YAML}" "${arg_FALLBACK_YAML}")
endfunction()
