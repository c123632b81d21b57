/* twins.c - rewritten functions on disk, beside the kernels: bytes by key (python/pyasc/_kept.py makes both).
**
** They are read on the path of a first call, without the GIL, and written by the compile thread.
*/
#include <stdlib.h>
#include <string.h>

#include "jit/compile.h"

typedef struct Job {
    RtDisk *disk;
    size_t nkey, nvalue;
    char bytes[]; /* the key and the value */
} Job;

static RtDisk *
twins_of(PyObject *module, const char *directory)
{
    JitDisk *disk = jit_disk(jit_state(module), directory);
    return disk ? disk->twins : NULL;
}

/* twin_read(directory, key): the bytes, or None. */
PyObject *
jit_twin_read(PyObject *module, PyObject *args)
{
    const char *directory;
    PyObject *key;
    RtImage image = {0};
    bool found;
    if (!PyArg_ParseTuple(args, "yS", &directory, &key))
        return NULL;
    size_t n = (size_t)PyBytes_GET_SIZE(key);
    RtDisk *disk = twins_of(module, directory);
    if (!disk)
        return NULL;
    Py_BEGIN_ALLOW_THREADS found =
        rt_disk_read(disk, PyBytes_AS_STRING(key), n, &image);
    Py_END_ALLOW_THREADS if (!found) Py_RETURN_NONE;
    PyObject *value = PyBytes_FromStringAndSize(image.code, image.bytes);
    free(image.memory);
    return value;
}

static void
write_run(void *context)
{
    Job *job = context;
    RtImage image = {.code = job->bytes + job->nkey, .bytes = (uint32_t)job->nvalue};
    rt_disk_write(job->disk, job->bytes, job->nkey, &image);
    free(job);
}

/* twin_write(directory, key, value): by the compile thread, some time. */
PyObject *
jit_twin_write(PyObject *module, PyObject *args)
{
    const char *directory;
    PyObject *key, *value;
    if (!PyArg_ParseTuple(args, "ySS", &directory, &key, &value))
        return NULL;
    size_t nkey = (size_t)PyBytes_GET_SIZE(key),
           nvalue = (size_t)PyBytes_GET_SIZE(value);
    RtDisk *disk = twins_of(module, directory);
    if (!disk)
        return NULL;
    Job *job = nvalue <= UINT32_MAX ? malloc(sizeof *job + nkey + nvalue) : NULL;
    if (!job)
        Py_RETURN_NONE; /* it is made anew the next time */
    *job = (Job){.disk = disk, .nkey = nkey, .nvalue = nvalue};
    memcpy(job->bytes, PyBytes_AS_STRING(key), nkey);
    memcpy(job->bytes + nkey, PyBytes_AS_STRING(value), nvalue);
    if (!rt_worker_submit(jit_state(module)->compiler->worker, write_run, free, job))
        free(job);
    Py_RETURN_NONE;
}

/* digest(bytes): what stands for them in a key. */
PyObject *
jit_twin_digest(PyObject *Py_UNUSED(module), PyObject *bytes)
{
    uint8_t digest[RT_DIGEST];
    if (!PyBytes_Check(bytes))
        return PyErr_Format(PyExc_TypeError, "digest takes bytes");
    rt_hash(PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes), digest);
    return PyBytes_FromStringAndSize((const char *)digest, RT_DIGEST);
}

/* twin_stats(): counts of the functions on disk. */
PyObject *
jit_twin_stats(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    RtDiskStats sum = {0};
    for (JitDisk *d = jit_state(module)->compiler->disks; d; d = d->next) {
        RtDiskStats one = d->twins ? rt_disk_stats(d->twins) : (RtDiskStats){0};
        sum.hits += one.hits;
        sum.misses += one.misses;
        sum.writes += one.writes;
        sum.removals += one.removals;
        sum.bad += one.bad + one.failed;
    }
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K}", "hits", (unsigned long long)sum.hits,
                         "misses", (unsigned long long)sum.misses, "writes",
                         (unsigned long long)sum.writes, "removals",
                         (unsigned long long)sum.removals, "errors",
                         (unsigned long long)sum.bad);
}
