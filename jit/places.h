/* places.h - subscripts with arrays of indices as spaces that runtime/place.c goes over: places.c. */
#pragma once

#include "jit/jit.h"

typedef struct PlaceIndex {
    uint32_t ndim;
    intptr_t shape[RT_PLACE_AXES], strides[RT_PLACE_AXES];
} PlaceIndex;

typedef struct PlaceKey {
    RtPlace place; /* itemsize is the caller's */
    /* x */
    uint32_t ndim;
    const npy_intp *shape, *strides;
    PlaceIndex index[RT_PLACE_INDICES];
    int first;       /* axis of the result at which the indices' axes come */
    uint32_t nspace; /* of those axes */
    intptr_t space[RT_PLACE_AXES];
    uint32_t nrest; /* axes of the result that no index is along */
    intptr_t rest[RT_PLACE_AXES], rest_strides[RT_PLACE_AXES];
    /* A part of the key that is no slice, int, None or Ellipsis, as an index along an axis of x:
    ** by jit_place_index. False: it is none. */
    bool (*add)(struct PlaceKey *key, PyObject *part, uint32_t axis);
    void *context; /* of add */
} PlaceKey;

/* The next index. False: there are too many. */
bool jit_place_index(PlaceKey *key, const PlaceIndex *index, uint32_t axis);
/* An axis of x as it is, or what a slice leaves of it. */
bool jit_place_rest(PlaceKey *key, uint32_t axis, PyObject *slice);
/* The axes of all indices, broadcast, when all are there. */
bool jit_place_join(PlaceKey *key);
/* All parts of x[parts]. False: not of this form, or with an error. No exception is set. */
bool jit_place_read(PlaceKey *key, PyObject *parts);
/* The axes of the result, in its order. False: there is nothing in it. */
bool jit_place_space(PlaceKey *key);
/* The strides of y over the space: of its axes, or (not `whole`) broadcast. */
bool jit_place_other(PlaceKey *key, uint32_t ndim, const npy_intp *shape,
                     const npy_intp *strides, bool whole);
/* True where elements are put in NumPy's order, if indices are gone over in C order. */
bool jit_place_puts_in_order(const PlaceKey *key);
