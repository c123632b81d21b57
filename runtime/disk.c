/* disk.c - kernels on disk, and what else is kept between processes: one file each, named by the hash of its key.
**
**     ┌ header ┬ key ┬ names of symbols ┬ code ┐     <hash>.kernel
**
** A writer fills a file of another name and renames it, so that who reads finds a whole
** entry or none, whatever else happens at the same time. A process that is killed leaves the
** other name, which a later trim removes. There is no fsync: what a crash of the system
** leaves is found out by the checksum.
**
** Law 1: an entry counts only if sizes, checksum and the whole key are as they should be. Any
**        other is removed and made again.
** Law 2: files are never changed once they have their name, only removed.
** Law 3: trouble with the disk is never an error: it is remembered (rt_disk_trouble), and
**        kernels are compiled as if there were no cache.
*/
#include "runtime/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    ENTRY_MAX = 64 << 20,
    TOUCH_SECONDS = 60, /* a use is noted at most that often */
    TRIM_PARTS = 16,    /* a process trims when it has written 1/16 of the bound */
};

typedef struct Header {
    char magic[8];
    uint32_t format, header_bytes;
    uint64_t file_bytes;
    uint32_t key_bytes, names_bytes, code_bytes, entry, table, nsymbols;
    uint8_t checksum[RT_DIGEST]; /* of the file, this field zero */
} Header;

_Static_assert(sizeof(Header) == 80, "no padding: all bytes of an entry are checked");

static const char magic[8] = {'p', 'y', 'a', 's', 'c', 0x1a, '\n', 0};

static void
name_of(const RtDisk *disk, const void *key, size_t n, char name[NAME_BYTES])
{
    uint8_t digest[RT_DIGEST];

    rt_hash(key, n, digest);
    for (int i = 0; i < RT_DIGEST; i++)
        snprintf(name + 2 * i, 3, "%02x", digest[i]);
    snprintf(name + 2 * RT_DIGEST, NAME_BYTES - 2 * RT_DIGEST, ".%s", disk->kind);
}

/* -- Reading ----------------------------------------------------------------------- */

static bool
read_all(int fd, char *to, size_t n)
{
    while (n) {
        ssize_t got = read(fd, to, n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        n -= (size_t)got;
    }
    return true;
}

/* True if the n bytes are an entry of the key. */
static bool
is_sound(char *bytes, size_t n, const void *key, size_t nkey)
{
    uint8_t digest[RT_DIGEST];
    Header header;

    memcpy(&header, bytes, sizeof header);
    if (memcmp(header.magic, magic, sizeof magic) != 0 ||
        header.format != RT_DISK_FORMAT || header.header_bytes != sizeof header ||
        header.file_bytes != n || header.key_bytes != nkey ||
        (uint64_t)header.key_bytes + header.names_bytes + header.code_bytes !=
            n - sizeof header)
        return false;
    memset(bytes + offsetof(Header, checksum), 0, RT_DIGEST);
    rt_hash(bytes, n, digest);
    return memcmp(digest, header.checksum, RT_DIGEST) == 0 &&
           memcmp(bytes + sizeof header, key, nkey) == 0;
}

static RtImage
image_at(char *bytes)
{
    Header header;
    const char *names;

    memcpy(&header, bytes, sizeof header);
    names = bytes + sizeof header + header.key_bytes;
    return (RtImage){.code = names + header.names_bytes,
                     .bytes = header.code_bytes,
                     .entry = header.entry,
                     .table = header.table,
                     .nsymbols = header.nsymbols,
                     .names_bytes = header.names_bytes,
                     .names = names,
                     .memory = bytes};
}

/* The bytes of the open file, if they are an entry of the key. False: *bad says if they are
** none. */
static bool
read_entry(int fd, const void *key, size_t n, RtImage *image, bool *bad)
{
    struct stat status;
    char *bytes;

    if (fstat(fd, &status))
        return false;
    *bad = !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
           status.st_size < (off_t)sizeof(Header) || status.st_size > ENTRY_MAX;
    bytes = *bad ? NULL : malloc((size_t)status.st_size);
    if (!bytes)
        return false;
    if (!read_all(fd, bytes, (size_t)status.st_size) ||
        !is_sound(bytes, (size_t)status.st_size, key, n)) {
        *bad = true;
        free(bytes);
        return false;
    }
    if (status.st_mtime < time(NULL) - TOUCH_SECONDS)
        futimens(fd, NULL); /* the time of its last use */
    *image = image_at(bytes);
    return true;
}

/* What is none goes, so that an entry can have the name. A directory goes if it is empty: what
** is in it may be someone's. */
static void
remove_bad(int directory, const char *name)
{
    if (unlinkat(directory, name, 0) && errno == EISDIR)
        unlinkat(directory, name, AT_REMOVEDIR);
}

bool
rt_disk_read(RtDisk *disk, const void *key, size_t n, RtImage *image)
{
    int directory = rt_disk_open(disk, false), fd = -1;
    bool found = false, bad = false;
    char name[NAME_BYTES];

    if (atomic_load(&disk->off))
        return false;
    if (directory >= 0) {
        name_of(disk, key, n, name);
        fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    }
    if (fd >= 0) {
        found = read_entry(fd, key, n, image, &bad);
        if (bad)
            remove_bad(directory, name);
        close(fd);
    }
    if (directory >= 0)
        close(directory);
    atomic_fetch_add(found ? &disk->hits : &disk->misses, 1);
    if (bad)
        atomic_fetch_add(&disk->bad, 1);
    return found;
}

/* -- Writing ----------------------------------------------------------------------- */

static bool
write_all(int fd, const char *from, size_t n)
{
    while (n) {
        ssize_t put = write(fd, from, n);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        from += put;
        n -= (size_t)put;
    }
    return true;
}

/* The file of an entry, malloc'ed. */
static char *
pack(const void *key, size_t nkey, const RtImage *image, size_t *n)
{
    Header header = {.format = RT_DISK_FORMAT,
                     .header_bytes = sizeof header,
                     .key_bytes = (uint32_t)nkey,
                     .names_bytes = image->names_bytes,
                     .code_bytes = image->bytes,
                     .entry = image->entry,
                     .table = image->table,
                     .nsymbols = image->nsymbols};
    char *bytes, *at;

    *n = sizeof header + nkey + image->names_bytes + image->bytes;
    bytes = at = *n <= ENTRY_MAX ? malloc(*n) : NULL;
    if (!bytes)
        return NULL;
    header.file_bytes = *n;
    memcpy(header.magic, magic, sizeof magic);
    memcpy(at, &header, sizeof header);
    memcpy(at += sizeof header, key, nkey);
    at += nkey;
    if (image->names_bytes)
        memcpy(at, image->names, image->names_bytes);
    at += image->names_bytes;
    if (image->bytes)
        memcpy(at, image->code, image->bytes);
    rt_hash(bytes, *n, (uint8_t *)bytes + offsetof(Header, checksum));
    return bytes;
}

/* Writes a file of another name and renames it. False: errno says why. */
static bool
put(int directory, const char *name, const char *bytes, size_t n)
{
    char other[64];
    uint64_t number = 0;
    bool done;
    int fd, error;

    if (getrandom(&number, sizeof number, GRND_NONBLOCK) < 0)
        number = (uint64_t)rt_clock_ns();
    snprintf(other, sizeof other, ".write-%ld-%016llx", (long)getpid(),
             (unsigned long long)number);
    fd = openat(directory, other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                0600);
    if (fd < 0)
        return false;
    done = write_all(fd, bytes, n);
    error = done ? 0 : errno;
    if (close(fd) && done) {
        done = false;
        error = errno;
    }
    if (done && renameat(directory, other, directory, name)) {
        done = false;
        error = errno;
    }
    if (!done)
        unlinkat(directory, other, 0);
    errno = error;
    return done;
}

/* Errors that say nothing about the next write: of this process for now, of a directory that
** has just been removed, of a name that a directory has. */
static bool
passes(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOENT || error == EEXIST ||
           error == EINTR || error == EISDIR || error == ENOTEMPTY;
}

bool
rt_disk_write(RtDisk *disk, const void *key, size_t n, const RtImage *image)
{
    char name[NAME_BYTES], *bytes;
    bool done = false;
    size_t size = 0;
    int directory;

    if (atomic_load(&disk->full) || atomic_load(&disk->off))
        return false;
    directory = rt_disk_open(disk, true);
    bytes = directory < 0 ? NULL : pack(key, n, image, &size);
    if (bytes) {
        name_of(disk, key, n, name);
        done = put(directory, name, bytes, size);
        if (!done && !passes(errno))
            rt_disk_give_up(disk, false, "cannot be written", errno);
    }
    free(bytes);
    if (directory >= 0)
        close(directory);
    atomic_fetch_add(done ? &disk->writes : &disk->failed, 1);
    if (done && (atomic_fetch_add(&disk->written, size) + size >
                     atomic_load(&disk->bound) / TRIM_PARTS ||
                 !atomic_load(&disk->trimmed)))
        rt_disk_trim(disk);
    return done;
}

/* -- The cache --------------------------------------------------------------------- */

RtDisk *
rt_disk_new(const char *directory, const char *kind, uint64_t bound)
{
    RtDisk *disk = calloc(1, sizeof *disk);

    if (!disk)
        return NULL;
    disk->path = strdup(directory);
    disk->kind = kind;
    atomic_init(&disk->bound, bound);
    if (disk->path)
        return disk;
    free(disk);
    return NULL;
}

void
rt_disk_free(RtDisk *disk)
{
    if (disk)
        free(disk->path);
    free(disk);
}

const char *
rt_disk_directory(const RtDisk *disk)
{
    return disk->path;
}

void
rt_disk_set_bound(RtDisk *disk, uint64_t bytes)
{
    atomic_store(&disk->bound, bytes);
}

RtDiskStats
rt_disk_stats(const RtDisk *disk)
{
    return (RtDiskStats){.hits = atomic_load(&disk->hits),
                         .misses = atomic_load(&disk->misses),
                         .writes = atomic_load(&disk->writes),
                         .removals = atomic_load(&disk->removals),
                         .bad = atomic_load(&disk->bad),
                         .failed = atomic_load(&disk->failed)};
}

bool
rt_disk_trouble(RtDisk *disk, char *text, size_t n)
{
    const char *trouble = atomic_load(&disk->trouble);
    int error;

    if (!trouble || atomic_exchange(&disk->told, true))
        return false;
    error = atomic_load(&disk->error);
    snprintf(text, n, "%s %s%s%s", disk->path, trouble, error ? ": " : "",
             error ? strerror(error) : "");
    return true;
}
