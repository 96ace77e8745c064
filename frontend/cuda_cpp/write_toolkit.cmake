# Writes what is neither compiled nor linked of the folder that looks like a CUDA toolkit.
#
#   cmake -DTOOLKIT=folder -DHEADERS=folder -P write_toolkit.cmake

set(libraries ${TOOLKIT}/lib64)
file(MAKE_DIRECTORY ${libraries}/stubs ${TOOLKIT}/nvvm/libdevice)

# The names of files are looked up beside the script (GNU ld manual, "INPUT"). Of the second one see openmp_names.cpp.
foreach(name libcudart.so libcudart_static.a)
  file(REMOVE ${libraries}/${name})
  file(WRITE ${libraries}/${name} "/* The CUDA runtime of cudasim. */\nINPUT(libcudart.so.13.0 AS_NEEDED(libcudasim_openmp.so))\n")
endforeach()
# The names that programs linked by NVIDIA's nvcc ask the dynamic linker for.
foreach(name libcudart.so.13 libcudart.so.12)
  file(REMOVE ${libraries}/${name})
  file(CREATE_LINK libcudart.so.13.0 ${libraries}/${name} SYMBOLIC)
endforeach()
# Archives without members. Kernels do not launch kernels; makefiles name the others without need, and an installed
# library of that name must not be taken: what a program does use of it is an undefined reference.
foreach(name libcudadevrt.a stubs/libcuda.a stubs/libnvToolsExt.a)
  file(WRITE ${libraries}/${name} "!<arch>\n")
endforeach()

# Another name of the folder, which makefiles use.
file(CREATE_LINK lib64 ${TOOLKIT}/lib SYMBOLIC)
file(CREATE_LINK ${HEADERS} ${TOOLKIT}/include SYMBOLIC)

# Build systems look for this folder to find the toolkit.
file(WRITE ${TOOLKIT}/nvvm/libdevice/README "The simulator has its device library built in.\n")
file(WRITE ${TOOLKIT}/version.json [=[
{
   "cuda" : { "name" : "CUDA SDK (cudasim)", "version" : "13.0.88" },
   "cuda_cudart" : { "name" : "CUDA Runtime (cudasim)", "version" : "13.0.88" },
   "cuda_nvcc" : { "name" : "CUDA NVCC (cudasim)", "version" : "13.0.88" }
}
]=])
file(WRITE ${TOOLKIT}/version.txt "CUDA Version 13.0.88\n")
