# find_package(tsr): the compiler as tsr::tsrc, the library that loads modules as tsr::tsr, and
#
#   tsr_add_model(TARGET FILE.tsr [PREFIX NAME] [MODULE] [OPTIONS OPTION...])
#
# which makes TARGET of a program. Without MODULE it is a static library with the header FILE.h, to be linked;
# with MODULE it is a shared object FILE.so, which tsr_open, Python or `tsr run` load, and the target's property
# TSR_MODULE has its path. PREFIX is that of the C names. Imported files are dependencies.
cmake_minimum_required(VERSION 3.20)

get_filename_component(_tsr_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET tsr::tsrc)
  add_executable(tsr::tsrc IMPORTED)
  set_target_properties(tsr::tsrc PROPERTIES IMPORTED_LOCATION "${_tsr_prefix}/bin/tsrc")
  add_library(tsr::tsr SHARED IMPORTED)
  set_target_properties(tsr::tsr PROPERTIES
    IMPORTED_LOCATION "${_tsr_prefix}/lib/libtsr.so"
    IMPORTED_SONAME libtsr.so.0
    INTERFACE_INCLUDE_DIRECTORIES "${_tsr_prefix}/include")
endif()

function(tsr_add_model target source)
  cmake_parse_arguments(PARSE_ARGV 2 model "MODULE" "PREFIX" "OPTIONS")
  if(model_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tsr_add_model(${target}): what is '${model_UNPARSED_ARGUMENTS}'?")
  endif()
  get_filename_component(path "${source}" ABSOLUTE)
  get_filename_component(stem "${source}" NAME_WLE)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}.tsr")
  file(MAKE_DIRECTORY "${folder}")
  set(suffix o)
  if(model_MODULE)
    set(suffix so)
  endif()
  set(output "${folder}/${stem}.${suffix}")
  set(prefix)
  if(model_PREFIX)
    set(prefix "--prefix=${model_PREFIX}")
  endif()
  add_custom_command(
    OUTPUT "${output}"
    BYPRODUCTS "${folder}/${stem}.h"
    COMMAND tsr::tsrc -MD -MF "${output}.d" -MT "${output}" ${prefix} ${model_OPTIONS} -o "${output}" "${path}"
    DEPENDS "${path}" tsr::tsrc
    DEPFILE "${output}.d"
    COMMENT "Compiling ${source}"
    VERBATIM)
  if(model_MODULE)
    add_custom_target(${target} ALL DEPENDS "${output}")
    set_target_properties(${target} PROPERTIES TSR_MODULE "${output}")
    return()
  endif()
  set_source_files_properties("${output}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  add_library(${target} STATIC "${output}")
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(language CXX)
  if("C" IN_LIST languages OR NOT "CXX" IN_LIST languages)
    set(language C)
  endif()
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE ${language}) # of a project in C++ alone too
  target_include_directories(${target} INTERFACE "${folder}")
  target_link_libraries(${target} INTERFACE m)
endfunction()
