# Writes lower_version: versions, and a hash of the sources that decide what a kernel becomes.
#   cmake -DROOT=… -DVERSION=… -DLLVM=… -DOUTPUT=… -P version.cmake
set(all "")
file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/ir/* ${ROOT}/kernels/* ${ROOT}/lower/*)
list(SORT sources)
foreach(source ${sources})
  file(SHA256 ${ROOT}/${source} hash)
  string(APPEND all "${source} ${hash}\n")
endforeach()
string(SHA256 hash "${all}")
set(text "#include \"lower/lower.h\"\n\nconst char lower_version[] = \"pyasc ${VERSION} LLVM ${LLVM} sources ${hash}\";\n")
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "${text}" @ONLY)
