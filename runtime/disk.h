/* disk.h - shared by disk.c (entries) and disk_directory.c (where they are). */
#pragma once

#include <stdatomic.h>

#include "runtime/runtime.h"

enum { NAME_BYTES = 2 * RT_DIGEST + sizeof ".12345678" };

struct RtDisk {
    char *path;
    const char *kind;
    _Atomic(uint64_t) bound;
    _Atomic(uint64_t) written; /* bytes since the last trim of this process */
    _Atomic(bool) trimmed;
    _Atomic(uint64_t) hits, misses, writes, removals, bad, failed;
    _Atomic(bool) off;             /* neither read nor written */
    _Atomic(bool) full;            /* not written */
    _Atomic(const char *) trouble; /* the first one */
    _Atomic(int) error;            /* errno of it, or 0 */
    _Atomic(bool) told;
};

/* The directory, ours and no one else's to write; -1: there is none. `make`: is made if it is
** missing. */
int rt_disk_open(RtDisk *disk, bool make);
/* Why there will be no reading (`off`) or writing from here on; the first one is kept. */
void rt_disk_give_up(RtDisk *disk, bool off, const char *trouble, int error);
