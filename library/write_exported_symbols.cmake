# cmake -DTEMPLATE= -DOUTPUT= -DHEADERS= -DVERSION= -P: writes the version script of libcudasim.so. HEADERS is a file that
# names the engine's headers, one a line.
file(STRINGS ${HEADERS} headers)
list(SORT headers)
set(hashes "")
foreach(header IN LISTS headers)
  file(SHA256 ${header} hash)
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING ${hash} 0 12 hash)
set(NODE "CUDASIM_${VERSION}_${hash}")
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
