/* code.h - the part of runtime.h that is of compiled code: images, kernels in memory and on disk, and
** what identifies them. Included by runtime.h.
*/
#pragma once

#include "runtime/runtime.h"

/* -- Machine code (image.c) -------------------------------------------------------- */

/* Position-independent code and constants; see image.c. */
typedef struct RtImage {
    const char *code;
    uint32_t bytes;
    uint32_t entry;    /* offset of the function */
    uint32_t table;    /* offset of the table of symbols, or 0 */
    uint32_t nsymbols; /* addresses in it */
    uint32_t names_bytes;
    const char *names; /* of the symbols, each with its 0 */
    void *memory;      /* where all this is, for who frees it */
} RtImage;

typedef struct RtMapped {
    char *memory;
    size_t size;
    RtKernelFn entry;
} RtMapped;

/* The address of a symbol, or NULL. */
typedef void *(*RtSymbolFn)(const char *name);

/* False: out of memory, the image is none, or a symbol is not known. */
bool rt_image_map(const RtImage *image, RtSymbolFn find, RtMapped *mapped);
void rt_image_unmap(RtMapped *mapped);

/* -- Kernels in memory (kernels.c) ------------------------------------------------- */

/* All kernels of the process by key, the compiled and those that cannot be. A kernel that
** no one holds stays until its room is wanted, the least recently used goes first. Any thread
** may call any function. */
typedef struct RtKernels RtKernels;

typedef struct RtKernelStats {
    size_t kernels, bytes; /* in memory: code, keys and what belongs to them */
    size_t idle_kernels, idle_bytes; /* of these, held by no one */
    size_t bound;                    /* of bytes */
    uint64_t hits, misses, evictions;
} RtKernelStats;

/* What a kernel is made of: mapped code, or code of another kind and how it is given back, or
** a reason why there is none. */
typedef struct RtKernelCode {
    RtMapped mapped;
    RtKernelFn entry;
    void (*release)(void *owner, void *foreign);
    void *owner, *foreign;
    size_t foreign_bytes;
    const char *reason;
} RtKernelCode;

RtKernels *rt_kernels_new(size_t bound); /* NULL: out of memory */
/* Kernels that are held live on until they are dropped. */
void rt_kernels_free(RtKernels *kernels);
/* The kernel, held; or NULL, a miss. */
RtKernel *rt_kernels_find(RtKernels *kernels, const void *key, size_t n);
/* The kernel, held; if the key is there already the older one, and `code` is released. NULL:
** out of memory, and `code` is released. */
RtKernel *rt_kernels_add(RtKernels *kernels, const void *key, size_t n,
                         const RtKernelCode *code);
void rt_kernel_drop(RtKernel *kernel);                /* NULL is ignored */
RtKernelFn rt_kernel_entry(const RtKernel *kernel);   /* or NULL */
const char *rt_kernel_reason(const RtKernel *kernel); /* where there is no entry */
/* Kernels that no one holds are dropped as long as there is more than this in memory. */
void rt_kernels_set_bound(RtKernels *kernels, size_t bytes);
RtKernelStats rt_kernels_stats(RtKernels *kernels);

/* -- What is kept on disk (disk.c, disk_directory.c) -------------------------------- */

/* A directory of images by key, all of one kind. Many processes may use it, and any thread of them. */
typedef struct RtDisk RtDisk;

enum { RT_DISK_FORMAT = 1 }; /* of an entry; belongs into keys */

typedef struct RtDiskStats {
    uint64_t hits, misses, writes, removals;
    uint64_t bad;    /* entries that were none: cut, changed, of another version */
    uint64_t failed; /* writes that were not possible */
} RtDiskStats;

/* Nothing is touched yet. Entries of other kinds in the directory are others': `kind` is how names end, up to 8 bytes, a literal.
** NULL: out of memory. */
RtDisk *rt_disk_new(const char *directory, const char *kind, uint64_t bound);
void rt_disk_free(RtDisk *disk);
const char *rt_disk_directory(const RtDisk *disk);
/* True with the image of the key; image->memory is to be freed. An image without code has
** the reason for that as its name. */
bool rt_disk_read(RtDisk *disk, const void *key, size_t n, RtImage *image);
/* Never waits for the disk to have it. False: it is not there now. */
bool rt_disk_write(RtDisk *disk, const void *key, size_t n, const RtImage *image);
/* Removes entries, the least recently used first, while there are more than the bound. */
void rt_disk_trim(RtDisk *disk);
void rt_disk_set_bound(RtDisk *disk, uint64_t bytes);
RtDiskStats rt_disk_stats(const RtDisk *disk);
/* Why the cache is off, or writes nothing: true once, then false. */
bool rt_disk_trouble(RtDisk *disk, char *text, size_t n);

/* -- Identities (hash.c, cpu.c) ---------------------------------------------------- */

enum { RT_DIGEST = 32 };

void rt_hash(const void *data, size_t n, uint8_t digest[RT_DIGEST]); /* SHA-256 */
/* This CPU as text: equal texts, equal code. Empty: not known. */
void rt_cpu_identity(char *text, size_t n);
/* Bytes of a core's second-level cache, or what is usual where that is not known. */
size_t rt_cpu_cache_bytes(void);
/* Of rows that are computed block by block: so much and more is better written past the caches. Zen 5 with 32 MiB of
** a third level: 32 MiB (a third of the time of a layer norm); Sapphire Rapids with 260 MiB, of which others have their
** share: 64 MiB (at 32 MiB it costs a fifth). */
size_t rt_cpu_uncached_bytes(void);
