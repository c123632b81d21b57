/* memory.c - result arrays in memory of the pool, given back through NEP 49. */
#include <stdlib.h>
#include <string.h>

#include "jit/jit.h"

/* -- Memory ------------------------------------------------------------------------ */

static void *
pool_malloc(void *pool, size_t size)
{
    return rt_buffer_take_beside(pool, size, NULL);
}

static void *
pool_calloc(void *pool, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        return NULL;
    return rt_buffer_take_zeroed(pool, bytes);
}

static void *
pool_realloc(void *pool, void *block, size_t size)
{
    return rt_buffer_resize(pool, block, size);
}

static void
pool_free(void *pool, void *block, size_t size)
{
    (void)size;
    rt_buffer_give(pool, block);
}

static void
handler_free(PyObject *capsule)
{
    PyMem_Free(PyCapsule_GetPointer(capsule, "mem_handler"));
}

/* The pool and the capsule by which arrays give their memory back to it. The pool stays
 *for
 ** good: arrays outlive the module. */
int
jit_pool_new(JitState *state)
{
    PyDataMem_Handler *handler = PyMem_Calloc(1, sizeof *handler);
    state->pool = rt_pool_new((size_t)256 << 20);
    if (!handler || !state->pool) {
        PyMem_Free(handler);
        PyErr_NoMemory();
        return -1;
    }
    strcpy(handler->name, "pyasc");
    handler->version = 1;
    handler->allocator = (PyDataMemAllocator){state->pool, pool_malloc, pool_calloc,
                                              pool_realloc, pool_free};
    state->handler = PyCapsule_New(handler, "mem_handler", handler_free);
    return state->handler ? 0 : -1;
}

PyObject *
jit_array_of(JitState *state, PyArray_Descr *descr, int ndim, const npy_intp *shape,
             const npy_intp *strides, void *data, const void *beside)
{
    npy_intp bytes = PyDataType_ELSIZE(descr);
    bool packed = true;
    for (int d = ndim; d-- > 0;) {
        packed &= strides[d] == bytes || shape[d] == 1;
        bytes *= shape[d];
    }
    void *taken =
        data ? NULL : rt_buffer_take_beside(state->pool, (size_t)bytes, beside);
    if (!data && !taken)
        return PyErr_NoMemory();
    Py_INCREF(descr);
    PyObject *array =
        PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, packed ? NULL : strides,
                             data ? data : taken, NPY_ARRAY_CARRAY, NULL);
    if (!array) {
        rt_buffer_give(state->pool, taken);
        return NULL;
    }
    ((PyArrayObject_fields *)array)->mem_handler = Py_NewRef(state->handler);
    PyArray_ENABLEFLAGS((PyArrayObject *)array, NPY_ARRAY_OWNDATA);
    return array;
}

PyObject *
jit_array_new(JitState *state, PyArray_Descr *descr, int ndim, const npy_intp *shape,
              const npy_intp *strides)
{
    return jit_array_of(state, descr, ndim, shape, strides, NULL, NULL);
}

PyObject *
jit_call_pooled(JitState *state, PyObject *callable, PyObject *const *args,
                size_t nargs, PyObject *names)
{
    PyObject *type, *value, *traceback;
    PyObject *before = PyDataMem_SetHandler(state->handler);
    PyObject *result =
        before ? PyObject_Vectorcall(callable, args, nargs, names) : NULL;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *ours = before ? PyDataMem_SetHandler(before) : NULL;
    Py_XDECREF(ours);
    Py_XDECREF(before);
    if (type) /* of the call; what giving the handler back may have raised goes */
        PyErr_Restore(type, value, traceback);
    return result;
}
