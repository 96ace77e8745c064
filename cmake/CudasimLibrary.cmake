# How every folder becomes a target, and how LLVM gets into what is linked.
#
# LLVM must not clash with the LLVM inside llvmlite, torch or triton in the same process: libcudasim.so links the static
# archives and exports nothing of them (library/). Test programs link the engine's archives and the shared libLLVM, which
# takes seconds; nothing else lives in their process.

find_package(LLVM 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/llvm)
find_package(Boost 1.74 REQUIRED COMPONENTS context fiber)
find_package(Threads REQUIRED)

# What whoever includes the engine's headers is compiled with.
add_library(cudasim_interface INTERFACE)
target_include_directories(cudasim_interface INTERFACE ${PROJECT_SOURCE_DIR})
target_include_directories(cudasim_interface SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(cudasim_interface INTERFACE ${llvm_definitions})
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(cudasim_interface INTERFACE -mno-red-zone)  # simulator/fiber/fiber.h pushes inside functions
  target_compile_definitions(cudasim_interface INTERFACE CUDASIM_NO_RED_ZONE)
endif()

# cudasim_library(folder-target SOURCES... DEPENDS other-targets...)
#
# Symbols are visible so that libcudasim.so can export them (library/exported_symbols.map.in decides which), and no other
# library replaces them: calls inside of the engine stay direct and may be inlined.
function(cudasim_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET default)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -fno-semantic-interposition
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> -ffunction-sections -fdata-sections)
  target_link_libraries(${name} PUBLIC cudasim_interface ${ARG_DEPENDS})
  cudasim_sanitize(${name})
  # For library/, which puts all of them together.
  set_property(GLOBAL APPEND PROPERTY CUDASIM_ENGINE_TARGETS ${name})
  list(FILTER ARG_DEPENDS EXCLUDE REGEX "^cudasim_")
  set_property(GLOBAL APPEND PROPERTY CUDASIM_FOREIGN_LIBRARIES ${ARG_DEPENDS})
endfunction()

set(CUDASIM_LLVM_COMPONENTS core support analysis passes irreader bitreader bitwriter linker orcjit NVPTX
    native instcombine scalaropts ipo vectorize transformutils target mc debuginfodwarf symbolize object)

# cudasim_link_llvm(target static|shared)
function(cudasim_link_llvm name how)
  # The object cache knows a build by its id.
  target_link_options(${name} PRIVATE -Wl,--build-id=sha1)
  if(how STREQUAL "static")
    llvm_map_components_to_libnames(llvm_libraries ${CUDASIM_LLVM_COMPONENTS})
    target_link_libraries(${name} PRIVATE ${llvm_libraries})
    target_link_options(${name} PRIVATE -Wl,--gc-sections -Wl,--as-needed)
  else()
    target_link_libraries(${name} PRIVATE LLVM)
  endif()
endfunction()
