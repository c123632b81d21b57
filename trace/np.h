/* np.h - the only place that includes Python's and NumPy's headers. */
#pragma once

#include <Python.h>

#include <structmember.h>

#define NPY_NO_DEPRECATED_API  NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION     NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL pyasc_ARRAY_API
#define PY_UFUNC_UNIQUE_SYMBOL pyasc_UFUNC_API
#ifndef PYASC_IMPORT_NUMPY
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>
