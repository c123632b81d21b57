/* check_runtime_disk.c - kernels on disk: damaged entries, foreign directories, full disks,
** many processes, processes that are killed.
**
** Every test runs in a process of its own, made by fork (Check's default), in a directory of
** its own.
*/
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/machine_code.h"

enum { NOBODY = 65534, ROOM = 1 << 14, FORMAT_AT = 8, CHECKSUM_AT = 48 };

static char root[64];       /* made anew for each test */
static char directory[128]; /* in it, not made yet */

static void
setup(void)
{
    strcpy(root, "/tmp/pyasc-check-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    snprintf(directory, sizeof directory, "%s/caches/kernels", root);
}

static void
teardown(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s", root);
    ck_assert_int_eq(system(command), 0);
}

/* -- Entries -------------------------------------------------------------- */

static bool
write_number(RtDisk *disk, int number)
{
    char code[CODE_BYTES];
    RtImage image = image_adding(number, code);

    return rt_disk_write(disk, &number, sizeof number, &image);
}

/* False: not there. */
static bool
read_number(RtDisk *disk, int number)
{
    char code[CODE_BYTES];
    RtImage image, wanted = image_adding(number, code);

    if (!rt_disk_read(disk, &number, sizeof number, &image))
        return false;
    ck_assert_uint_eq(image.bytes, wanted.bytes);
    ck_assert_uint_eq(image.entry, wanted.entry);
    ck_assert_uint_eq(image.table, 0);
    ck_assert_mem_eq(image.code, code, CODE_BYTES);
    free(image.memory);
    return true;
}

/* Files of the directory whose names begin so; the path of one of them. */
static int
count_files(const char *prefix, char *path)
{
    DIR *listing = opendir(directory);
    struct dirent *item;
    int n = 0;

    while (listing && (item = readdir(listing)))
        if (item->d_name[0] != '.' || !strncmp(item->d_name, ".write", 6)) {
            if (strncmp(item->d_name, prefix, strlen(prefix)) != 0)
                continue;
            n++;
            if (path)
                snprintf(path, 512, "%s/%s", directory, item->d_name);
        }
    if (listing)
        closedir(listing);
    return n;
}

static size_t
file_get(const char *path, char *bytes)
{
    FILE *file = fopen(path, "rb");
    size_t n;

    ck_assert_ptr_nonnull(file);
    n = fread(bytes, 1, ROOM, file);
    fclose(file);
    return n;
}

static void
file_put(const char *path, const char *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

static void
expect_trouble(RtDisk *disk, const char *words)
{
    char text[512] = "";

    ck_assert(rt_disk_trouble(disk, text, sizeof text));
    ck_assert_msg(strstr(text, words) && strstr(text, root), "%s", text);
    ck_assert_msg(!rt_disk_trouble(disk, text, sizeof text), "told once");
}

START_TEST(entries_come_back)
{
    static const char names[] = "first\0second";
    RtDisk *disk = rt_disk_new(directory, "kernel", 1 << 20), *other;
    char code[CODE_BYTES], text[64];
    RtImage image = image_jumping(names, sizeof names, code), read;
    struct stat status;

    ck_assert(!read_number(disk, 1));
    ck_assert(write_number(disk, 1));
    ck_assert(rt_disk_write(disk, "long", 4, &image));
    other = rt_disk_new(directory, "kernel", 1 << 20); /* as another process */
    ck_assert(read_number(other, 1));
    ck_assert(rt_disk_read(other, "long", 4, &read));
    ck_assert_uint_eq(read.table, TABLE_AT);
    ck_assert_uint_eq(read.nsymbols, 2);
    ck_assert_uint_eq(read.names_bytes, sizeof names);
    ck_assert_mem_eq(read.names, names, sizeof names);
    free(read.memory);
    image = (RtImage){.names = "no lowering", .names_bytes = 12};
    ck_assert(rt_disk_write(disk, "none", 4, &image));
    ck_assert(rt_disk_read(other, "none", 4, &read));
    ck_assert_uint_eq(read.bytes, 0);
    ck_assert_str_eq(read.names, "no lowering");
    free(read.memory);
    ck_assert_uint_eq(rt_disk_stats(other).hits, 3);
    ck_assert_uint_eq(rt_disk_stats(disk).writes, 3);
    ck_assert_int_eq(count_files("", NULL), 3);
    ck_assert_int_eq(stat(directory, &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0700);
    ck_assert(!rt_disk_trouble(disk, text, sizeof text));
    ck_assert_str_eq(rt_disk_directory(disk), directory);
    rt_disk_free(disk);
    rt_disk_free(other);
    rt_disk_free(NULL);
}
END_TEST

/* A damaged entry is none, goes, and is made again. */
static void
expect_bad(RtDisk *disk, const char *path, const char *bytes, size_t n, size_t at)
{
    RtDiskStats before = rt_disk_stats(disk), after;

    file_put(path, bytes, n);
    ck_assert_msg(!read_number(disk, 1), "damaged at %zu", at);
    after = rt_disk_stats(disk);
    ck_assert_uint_eq(after.bad, before.bad + 1);
    ck_assert_int_ne(access(path, F_OK), 0);
}

START_TEST(damaged_entries_are_none)
{
    RtDisk *disk = rt_disk_new(directory, "kernel", 1 << 20);
    char path[512], good[ROOM], bad[ROOM];
    size_t n;

    ck_assert(write_number(disk, 1));
    ck_assert_int_eq(count_files("", path), 1);
    n = file_get(path, good);
    for (size_t i = 0; i < n; i++) { /* cut */
        expect_bad(disk, path, good, i, i);
        memcpy(bad, good, n);
        bad[i] ^= (char)(1 << i % 8); /* flipped */
        expect_bad(disk, path, bad, n, i);
    }
    memcpy(bad, good, n);
    memset(bad + n, 0, 16); /* longer */
    expect_bad(disk, path, bad, n + 16, n);
    memset(bad, 0, n); /* what a crash leaves */
    expect_bad(disk, path, bad, n, n);
    ck_assert(write_number(disk, 1));
    ck_assert(read_number(disk, 1));
    rt_disk_free(disk);
}
END_TEST

/* Sound by itself, but not what was asked for: of another key, or of another format. */
START_TEST(other_entries_are_none)
{
    RtDisk *disk = rt_disk_new(directory, "kernel", 1 << 20);
    char one[512], two[512], bytes[ROOM];
    uint32_t format = RT_DISK_FORMAT + 1;
    size_t n;

    ck_assert(write_number(disk, 1));
    count_files("", one);
    n = file_get(one, bytes);
    unlink(one);
    ck_assert(write_number(disk, 2));
    count_files("", two);
    ck_assert_int_eq(rename(two, one), 0);
    ck_assert(!read_number(disk, 1));
    memcpy(bytes + FORMAT_AT, &format, 4);
    memset(bytes + CHECKSUM_AT, 0, RT_DIGEST);
    rt_hash(bytes, n, (uint8_t *)bytes + CHECKSUM_AT);
    file_put(one, bytes, n);
    ck_assert(!read_number(disk, 1));
    format = RT_DISK_FORMAT;
    memcpy(bytes + FORMAT_AT, &format, 4);
    memset(bytes + CHECKSUM_AT, 0, RT_DIGEST);
    rt_hash(bytes, n, (uint8_t *)bytes + CHECKSUM_AT);
    file_put(one, bytes, n);
    ck_assert_msg(read_number(disk, 1), "this test makes checksums as the cache does");
    unlink(one);
    ck_assert_int_eq(symlink("/dev/zero", one), 0);
    ck_assert(!read_number(disk, 1));
    unlink(one);
    ck_assert_int_eq(mkfifo(one, 0600), 0);
    ck_assert(!read_number(disk, 1)); /* and does not wait */
    ck_assert(write_number(disk, 1));
    ck_assert(read_number(disk, 1));
    rt_disk_free(disk);
}
END_TEST

/* A directory of an entry's name costs that entry, if it cannot be removed, and no other. */
START_TEST(directories_in_place_of_entries)
{
    RtDisk *disk = rt_disk_new(directory, "kernel", 1 << 20);
    char path[512], below[600], text[64];

    ck_assert(write_number(disk, 1));
    count_files("", path);
    unlink(path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert(!read_number(disk, 1));
    ck_assert(write_number(disk, 1));
    ck_assert(read_number(disk, 1));
    unlink(path);
    snprintf(below, sizeof below, "%s/below", path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(mkdir(below, 0700), 0);
    ck_assert(!read_number(disk, 1));
    ck_assert(!write_number(disk, 1));
    ck_assert(write_number(disk, 2));
    ck_assert(read_number(disk, 2));
    ck_assert_int_eq(access(below, F_OK), 0);
    ck_assert_int_eq(count_files(".write", NULL), 0);
    ck_assert(!rt_disk_trouble(disk, text, sizeof text));
    rt_disk_free(disk);
}
END_TEST

/* -- Directories ---------------------------------------------------------- */

static void
make_directory(mode_t mode)
{
    char parent[160];

    snprintf(parent, sizeof parent, "%s/caches", root);
    ck_assert(mkdir(parent, 0700) == 0 || errno == EEXIST);
    ck_assert_int_eq(mkdir(directory, 0700), 0);
    ck_assert_int_eq(chmod(directory, mode), 0);
}

static void
expect_off(const char *path, const char *words)
{
    RtDisk *disk = rt_disk_new(path, "kernel", 1 << 20);

    ck_assert(!read_number(disk, 1));
    ck_assert(!write_number(disk, 1));
    ck_assert(!read_number(disk, 1));
    expect_trouble(disk, words);
    ck_assert_int_eq(count_files("", NULL), 0);
    rt_disk_free(disk);
}

START_TEST(directories_of_others)
{
    char link[160];

    make_directory(0770);
    expect_off(directory, "can be written by other users");
    chmod(directory, 0702);
    expect_off(directory, "can be written by other users");
    snprintf(link, sizeof link, "%s/link", root);
    ck_assert_int_eq(symlink(directory, link), 0);
    expect_off(link, "can be written by other users");
    chmod(directory, 0700);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(directory, NOBODY, NOBODY), 0);
        expect_off(directory, "belongs to another user");
        expect_off(link, "belongs to another user");
    }
}
END_TEST

START_TEST(no_directory)
{
    char path[160];

    snprintf(path, sizeof path, "%s/file", root);
    file_put(path, "", 0);
    RtDisk *disk = rt_disk_new(path, "kernel", 1 << 20);
    ck_assert(!read_number(disk, 1) && !write_number(disk, 1));
    expect_trouble(disk, "cannot be opened");
    rt_disk_free(disk);
    strcat(path, "/below");
    disk = rt_disk_new(path, "kernel", 1 << 20);
    ck_assert(!read_number(disk, 1) && !write_number(disk, 1));
    expect_trouble(disk, "cannot be opened");
    rt_disk_free(disk);
}
END_TEST

/* What is there is used, nothing is written. */
START_TEST(directories_to_read_only)
{
    RtDisk *disk = rt_disk_new(directory, "kernel", 1 << 20);

    if (getuid() == 0) { /* may write anywhere */
        ck_assert_int_eq(chmod(root, 0777), 0);
        ck_assert_int_eq(seteuid(NOBODY), 0);
    }
    ck_assert(write_number(disk, 1));
    ck_assert_int_eq(chmod(directory, 0500), 0);
    ck_assert(!write_number(disk, 2));
    ck_assert(!write_number(disk, 3));
    expect_trouble(disk, "cannot be written");
    ck_assert(read_number(disk, 1));
    ck_assert_int_eq(seteuid(getuid()), 0);
    rt_disk_free(disk);
}
END_TEST

START_TEST(full_disks)
{
    struct rlimit limit = {64, 64};
    RtDisk *disk = rt_disk_new(directory, "kernel", 1 << 20);

    ck_assert(write_number(disk, 1));
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert(!write_number(disk, 2));
    expect_trouble(disk, "cannot be written");
    ck_assert(!write_number(disk, 3));
    ck_assert_uint_eq(rt_disk_stats(disk).failed, 1);
    ck_assert(read_number(disk, 1));
    ck_assert_int_eq(count_files("", NULL), 1);
    rt_disk_free(disk);
}
END_TEST

START_TEST(directories_that_vanish)
{
    RtDisk *disk = rt_disk_new(directory, "kernel", 1 << 20);
    char text[64];

    ck_assert(write_number(disk, 1));
    teardown();
    ck_assert(!read_number(disk, 1));
    rt_disk_trim(disk);
    ck_assert(write_number(disk, 2));
    ck_assert(read_number(disk, 2));
    ck_assert(!rt_disk_trouble(disk, text, sizeof text));
    rt_disk_free(disk);
}
END_TEST

/* Others remove it again and again, and what is above it: no trouble, and none is given up. */
START_TEST(directories_that_vanish_in_the_midst)
{
    RtDisk *disk = rt_disk_new(directory, "kernel", 1 << 20);
    char parent[160], text[512] = "", command[400];
    pid_t child = fork();

    snprintf(parent, sizeof parent, "%s/caches", root);
    if (!child)
        for (;;) {
            char path[512] = "";

            count_files("", path);
            unlink(path);
            rmdir(directory);
            rmdir(parent);
        }
    for (int i = 0; i < 3000; i++)
        if (!read_number(disk, i % 7))
            write_number(disk, i % 7);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    ck_assert_msg(!rt_disk_trouble(disk, text, sizeof text), "%s", text);
    snprintf(command, sizeof command, "rm -rf %s", parent);
    ck_assert_int_eq(system(command), 0);
    ck_assert(write_number(disk, 1) && read_number(disk, 1));
    ck_assert_uint_gt(rt_disk_stats(disk).writes, 1);
    rt_disk_free(disk);
}
END_TEST

/* -- The bound ------------------------------------------------------------ */

/* What one directory has of another kind is no entry, and no one's to remove. */
START_TEST(kinds_are_apart)
{
    RtDisk *kernels = rt_disk_new(directory, "kernel", 1 << 20),
           *twins = rt_disk_new(directory, "twin", 1 << 20);

    ck_assert(write_number(kernels, 1) && write_number(kernels, 2));
    ck_assert(!read_number(twins, 1));
    ck_assert(write_number(twins, 1) && write_number(twins, 3));
    ck_assert(read_number(twins, 1) && read_number(kernels, 1));
    rt_disk_set_bound(twins, 1);
    rt_disk_trim(twins);
    ck_assert(!read_number(twins, 1) && !read_number(twins, 3));
    ck_assert(read_number(kernels, 1) && read_number(kernels, 2));
    ck_assert_uint_eq(rt_disk_stats(twins).removals, 2);
    ck_assert_uint_eq(rt_disk_stats(kernels).removals, 0);
    ck_assert(write_number(twins, 4));
    rt_disk_set_bound(kernels, 1);
    rt_disk_trim(kernels);
    ck_assert(!read_number(kernels, 1));
    ck_assert_uint_eq(rt_disk_stats(kernels).removals, 2);
    rt_disk_free(kernels);
    rt_disk_free(twins);
}
END_TEST

static void
set_age(const char *path, time_t seconds)
{
    struct timespec times[2] = {{time(NULL) - seconds, 0}, {time(NULL) - seconds, 0}};

    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

START_TEST(the_oldest_go)
{
    RtDisk *disk = rt_disk_new(directory, "kernel", 1 << 20);
    char path[512], bytes[ROOM];
    size_t size;

    for (int i = 0; i < 16; i++)
        ck_assert(write_number(disk, i));
    count_files("", path);
    size = file_get(path, bytes);
    DIR *listing = opendir(directory);
    for (struct dirent *item; (item = readdir(listing));)
        if (item->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", directory, item->d_name);
            set_age(path, 1000);
        }
    closedir(listing);
    for (int i = 0; i < 4; i++)
        ck_assert(read_number(disk, i)); /* used now */
    snprintf(path, sizeof path, "%s/.write-1-0", directory);
    file_put(path, "", 0);
    set_age(path, 7200);
    snprintf(path, sizeof path, "%s/.write-1-1", directory);
    file_put(path, "", 0);
    snprintf(path, sizeof path, "%s/README", directory); /* not ours */
    file_put(path, "", 0);
    set_age(path, 7200);
    rt_disk_set_bound(disk, 8 * size);
    rt_disk_trim(disk);
    ck_assert_int_eq(count_files("", NULL), 7 + 2);
    ck_assert_int_eq(count_files(".write", NULL), 1);
    ck_assert_int_eq(access(path, F_OK), 0);
    for (int i = 0; i < 4; i++)
        ck_assert(read_number(disk, i));
    ck_assert_uint_eq(rt_disk_stats(disk).removals, 9);
    rt_disk_free(disk);
}
END_TEST

START_TEST(writers_keep_to_the_bound)
{
    RtDisk *disk = rt_disk_new(directory, "kernel", 4096);

    for (int i = 0; i < 500; i++)
        ck_assert(write_number(disk, i));
    ck_assert_int_lt(count_files("", NULL), 50);
    ck_assert_uint_gt(rt_disk_stats(disk).removals, 400);
    rt_disk_free(disk);
}
END_TEST

/* -- Processes ------------------------------------------------------------ */

enum { PROCESSES = 8, NUMBERS = 60 };

START_TEST(processes_at_once)
{
    pid_t children[PROCESSES];
    int status;

    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i])
            continue;
        RtDisk *disk = rt_disk_new(directory, "kernel", 1 << 20);
        for (int turn = 0; turn < 3; turn++)
            for (int k = 0; k < NUMBERS; k++)
                if (!read_number(disk, k) && !write_number(disk, k))
                    _exit(1);
        _exit(rt_disk_stats(disk).bad ? 2 : 0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_int_eq(count_files("", NULL), NUMBERS);
    ck_assert_int_eq(count_files(".write", NULL), 0);
}
END_TEST

START_TEST(processes_that_are_killed)
{
    RtDisk *disk = rt_disk_new(directory, "kernel", 1 << 20);
    int found = 0;

    for (int turn = 0; turn < 60; turn++) {
        pid_t child = fork();

        if (!child)
            for (int k = 0;; k = (k + 1) % NUMBERS)
                write_number(disk, k);
        usleep((useconds_t)(turn * 97 % 3000));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        for (int k = 0; k < NUMBERS; k++)
            found += read_number(disk, k);
    }
    ck_assert_int_gt(found, 0);
    ck_assert_uint_eq(rt_disk_stats(disk).bad, 0);
    rt_disk_free(disk);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("runtime: disk");
    TCase *all = tcase_create("disk");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(all, setup, teardown);
    tcase_set_timeout(all, 120);
    tcase_add_test(all, entries_come_back);
    tcase_add_test(all, damaged_entries_are_none);
    tcase_add_test(all, other_entries_are_none);
    tcase_add_test(all, directories_in_place_of_entries);
    tcase_add_test(all, directories_of_others);
    tcase_add_test(all, no_directory);
    tcase_add_test(all, directories_to_read_only);
    tcase_add_test(all, full_disks);
    tcase_add_test(all, directories_that_vanish);
    tcase_add_test(all, directories_that_vanish_in_the_midst);
    tcase_add_test(all, kinds_are_apart);
    tcase_add_test(all, the_oldest_go);
    tcase_add_test(all, writers_keep_to_the_bound);
    tcase_add_test(all, processes_at_once);
    tcase_add_test(all, processes_that_are_killed);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
