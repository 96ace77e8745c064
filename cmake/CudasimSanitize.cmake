# cudasim_sanitize(target): the sanitizers of CUDASIM_SANITIZE, for a library, an extension or a program of the project.
function(cudasim_sanitize name)
  if(CUDASIM_SANITIZE)
    target_compile_options(${name} PRIVATE -fsanitize=${CUDASIM_SANITIZE} -fno-omit-frame-pointer -g1)
    target_link_options(${name} PRIVATE -fsanitize=${CUDASIM_SANITIZE})
  endif()
endfunction()
