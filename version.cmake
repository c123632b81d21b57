# Writes lower_version and twin_version: versions, and hashes of the sources that decide what a kernel, and a rewritten function, becomes.
#   cmake -DROOT=… -DVERSION=… -DLLVM=… -DOUTPUT=… -P version.cmake
function(hash_of result)
  set(all "")
  file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ARGN})
  list(SORT sources)
  foreach(source ${sources})
    file(SHA256 ${ROOT}/${source} hash)
    string(APPEND all "${source} ${hash}\n")
  endforeach()
  string(SHA256 hash "${all}")
  set(${result} ${hash} PARENT_SCOPE)
endfunction()

hash_of(kernels ${ROOT}/ir/* ${ROOT}/kernels/* ${ROOT}/lower/*)
hash_of(twins ${ROOT}/python/pyasc/*.py ${ROOT}/trace/*)
set(text "#include \"lower/lower.h\"\n\nconst char lower_version[] = \"pyasc ${VERSION} LLVM ${LLVM} sources ${kernels}\";\n")
string(APPEND text "extern const char twin_version[];\nconst char twin_version[] = \"pyasc ${VERSION} sources ${twins}\";\n")
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "${text}" @ONLY)
