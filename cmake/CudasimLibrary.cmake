# How every folder becomes a target, and how LLVM gets into what is linked.
#
# LLVM must not clash with the LLVM inside llvmlite, torch or triton in the same process: the Python
# extension links the static archives with hidden symbols. Test programs link the shared library, which
# links in seconds; nothing else lives in their process.

find_package(LLVM 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/llvm)
find_package(Boost 1.74 REQUIRED COMPONENTS context fiber)
find_package(Threads REQUIRED)

# cudasim_library(folder-target SOURCES... DEPENDS other-targets...)
function(cudasim_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_include_directories(${name} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS})
  separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
  target_compile_definitions(${name} PUBLIC ${llvm_definitions})
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wno-unused-parameter
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> -ffunction-sections -fdata-sections)
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
  cudasim_sanitize(${name})
  set_property(GLOBAL APPEND PROPERTY CUDASIM_ENGINE_TARGETS ${name})
endfunction()

function(cudasim_sanitize name)
  if(CUDASIM_SANITIZE)
    target_compile_options(${name} PRIVATE -fsanitize=${CUDASIM_SANITIZE} -fno-omit-frame-pointer -g1)
    target_link_options(${name} PRIVATE -fsanitize=${CUDASIM_SANITIZE})
  endif()
endfunction()

set(CUDASIM_LLVM_COMPONENTS core support analysis passes irreader bitreader bitwriter linker orcjit NVPTX
    native instcombine scalaropts ipo vectorize transformutils target mc debuginfodwarf object)

# cudasim_link_llvm(target static|shared)
function(cudasim_link_llvm name how)
  # The object cache knows a build by its id.
  target_link_options(${name} PRIVATE -Wl,--build-id=sha1)
  if(how STREQUAL "static")
    llvm_map_components_to_libnames(llvm_libraries ${CUDASIM_LLVM_COMPONENTS})
    target_link_libraries(${name} PRIVATE ${llvm_libraries})
    target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,--gc-sections -Wl,--as-needed)
  else()
    target_link_libraries(${name} PRIVATE LLVM)
  endif()
endfunction()
