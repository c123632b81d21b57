/* disk_directory.c - the directory of the disk cache: whose it is, what goes when it is full.
**
** Code that is loaded is run: the directory has to belong to the user of the process, and no
** one else may write into it. It is opened and looked at anew for each use, as it may vanish
** or change while the process runs.
*/
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/disk.h"

enum {
    TRIES = 16,           /* to make a directory that others remove */
    STALE_SECONDS = 3600, /* files of writers that were killed */
    ROOM_PARTS = 8,       /* a trim leaves 1/8 of the bound free */
};

void
rt_disk_give_up(RtDisk *disk, bool off, const char *trouble, int error)
{
    const char *none = NULL;

    if (atomic_compare_exchange_strong(&disk->trouble, &none, trouble))
        atomic_store(&disk->error, error);
    atomic_store(off ? &disk->off : &disk->full, true);
}

/* Makes the directory and those above it; what is there already stays as it is. The first error, or 0; *made: one of
** them was not there, and is made. */
static int
make_directories(const char *path, bool *made)
{
    char *copy = strdup(path);
    int error = copy ? 0 : ENOMEM;

    *made = false;
    for (char *at = copy; at && *at; at++) {
        if (*at != '/' || at == copy)
            continue;
        *at = 0;
        if (mkdir(copy, 0700) == 0)
            *made = true;
        else if (errno != EEXIST && !error)
            error = errno;
        *at = '/';
    }
    if (copy && mkdir(copy, 0700) == 0)
        *made = true;
    else if (copy && errno != EEXIST && !error)
        error = errno;
    free(copy);
    return error;
}

/* As open; what is not there is made. Others may remove it at any time: then it is made again, and EAGAIN if that
** was to no avail. */
static int
open_made(const char *path, int flags)
{
    int fd = open(path, flags);
    bool raced = false;

    for (int i = 0; fd < 0 && errno == ENOENT && i < TRIES; i++) {
        bool made;
        int error = make_directories(path, &made);

        fd = open(path, flags);
        raced |= made;
        if (fd < 0 && errno == ENOENT && error)
            errno = error;
    }
    if (fd < 0 && errno == ENOENT && raced)
        errno = EAGAIN;
    return fd;
}

int
rt_disk_open(RtDisk *disk, bool make)
{
    enum { FLAGS = O_RDONLY | O_DIRECTORY | O_CLOEXEC };
    struct stat status;
    int fd;

    if (atomic_load(&disk->off))
        return -1;
    fd = make ? open_made(disk->path, FLAGS) : open(disk->path, FLAGS);
    if (fd < 0) {
        if (errno != EMFILE && errno != ENFILE && errno != EAGAIN &&
            (errno != ENOENT || make))
            rt_disk_give_up(disk, true, "cannot be opened", errno);
        return -1;
    }
    if (fstat(fd, &status))
        rt_disk_give_up(disk, true, "cannot be opened", errno);
    else if (status.st_uid != geteuid())
        rt_disk_give_up(disk, true, "belongs to another user", 0);
    else if (status.st_mode & (S_IWGRP | S_IWOTH))
        rt_disk_give_up(disk, true, "can be written by other users", 0);
    else
        return fd;
    close(fd);
    return -1;
}

/* -- Trimming ---------------------------------------------------------------------- */

typedef struct Entry {
    struct timespec used;
    uint64_t bytes;
    char name[NAME_BYTES];
} Entry;

typedef struct Listing {
    Entry *entries;
    size_t n, room;
    uint64_t bytes;
} Listing;

static int
older(const void *a, const void *b)
{
    const struct timespec *x = &((const Entry *)a)->used,
                          *y = &((const Entry *)b)->used;

    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static bool
is_entry(const RtDisk *disk, const char *name)
{
    return strspn(name, "0123456789abcdef") == 2 * RT_DIGEST &&
           name[2 * RT_DIGEST] == '.' && !strcmp(name + 2 * RT_DIGEST + 1, disk->kind);
}

/* False: out of memory. */
static bool
list_add(Listing *list, const char *name, const struct stat *status)
{
    Entry *entry;

    if (list->n == list->room) {
        size_t room = list->room ? 2 * list->room : 256;
        Entry *more = realloc(list->entries, room * sizeof *more);

        if (!more)
            return false;
        list->entries = more;
        list->room = room;
    }
    entry = &list->entries[list->n++];
    entry->used = status->st_mtim;
    entry->bytes = (uint64_t)status->st_size;
    memcpy(entry->name, name, strlen(name) + 1);
    list->bytes += entry->bytes;
    return true;
}

/* Lists entries; what writers that were killed have left is removed. */
static void
list_read(const RtDisk *disk, DIR *directory, Listing *list)
{
    time_t now = time(NULL);
    struct dirent *item;
    struct stat status;

    while ((item = readdir(directory))) {
        bool temporary = !strncmp(item->d_name, ".write-", 7);

        if (!temporary && !is_entry(disk, item->d_name))
            continue;
        if (fstatat(dirfd(directory), item->d_name, &status, AT_SYMLINK_NOFOLLOW))
            continue;
        if (!temporary && !list_add(list, item->d_name, &status))
            return;
        if (temporary && status.st_mtime < now - STALE_SECONDS)
            unlinkat(dirfd(directory), item->d_name, 0);
    }
}

void
rt_disk_trim(RtDisk *disk)
{
    uint64_t bound = atomic_load(&disk->bound);
    int fd = rt_disk_open(disk, false);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    Listing list = {0};

    atomic_store(&disk->trimmed, true);
    atomic_store(&disk->written, 0);
    if (!directory) {
        if (fd >= 0)
            close(fd);
        return;
    }
    list_read(disk, directory, &list);
    if (list.bytes > bound) {
        qsort(list.entries, list.n, sizeof *list.entries, older);
        for (size_t i = 0; i < list.n && list.bytes > bound - bound / ROOM_PARTS; i++) {
            list.bytes -= list.entries[i].bytes;
            if (!unlinkat(fd, list.entries[i].name, 0))
                atomic_fetch_add(&disk->removals, 1);
        }
    }
    free(list.entries);
    closedir(directory);
}
