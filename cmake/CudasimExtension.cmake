# What the Python extensions have in common: each links libcudasim.so, which lies beside it in an installation, and has
# nothing of the engine itself.

# cudasim_extension(target): the target is made already, by pybind11_add_module() or Python_add_library()
function(cudasim_extension name)
  # Structs such as the syntax tree's have default initialisers for every member; naming the few that differ is the point.
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wno-missing-field-initializers -ffunction-sections -fdata-sections)
  # Calls of the library go through the table of addresses, not through a stub as well: all are bound when Python loads it.
  target_compile_options(${name} PRIVATE -fno-plt)
  target_link_libraries(${name} PRIVATE cudasim)
  set(symbols ${PROJECT_SOURCE_DIR}/cmake/extension_symbols.map)
  target_link_options(${name} PRIVATE -Wl,--version-script=${symbols} -Wl,--gc-sections -Wl,--as-needed
    -Wl,--disable-new-dtags)
  set_target_properties(${name} PROPERTIES LINK_DEPENDS ${symbols} INSTALL_RPATH "$ORIGIN")
  cudasim_sanitize(${name})
  install(TARGETS ${name} LIBRARY DESTINATION cudasim COMPONENT python)
endfunction()
