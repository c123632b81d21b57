/* check_runtime_kernels.c - hashes, images of machine code, the kernels in memory. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/machine_code.h"
#include "tests/sanitized.h"

/* -- Identities ----------------------------------------------------------- */

/* The vectors of FIPS 180-4 and its examples. */
START_TEST(hashes)
{
    static const struct {
        const char *text, *digest;
    } known[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
         "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
        {NULL, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"}};
    char *million = malloc(1000000);

    memset(million, 'a', 1000000);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *text = known[i].text ? known[i].text : million;
        uint8_t digest[RT_DIGEST];
        char hex[2 * RT_DIGEST + 1];

        rt_hash(text, known[i].text ? strlen(text) : 1000000, digest);
        for (int k = 0; k < RT_DIGEST; k++)
            snprintf(hex + 2 * k, 3, "%02x", digest[k]);
        ck_assert_str_eq(hex, known[i].digest);
    }
    free(million);
}
END_TEST

START_TEST(cpu_is_the_same)
{
    char first[512], second[512], small[8];

    rt_cpu_identity(first, sizeof first);
    rt_cpu_identity(second, sizeof second);
    rt_cpu_identity(small, sizeof small);
    ck_assert_str_eq(first, second);
    ck_assert(strlen(small) < sizeof small);
    ck_assert(HAVE_CODE == (first[0] != 0));
}
END_TEST

/* -- Images --------------------------------------------------------------- */

static void
doubled(char *const *data, intptr_t n)
{
    *(intptr_t *)(void *)data[0] = 2 * n;
}

static void *
find_symbol(const char *name)
{
    if (!strcmp(name, "first"))
        return (void *)(uintptr_t)result_of;
    return strcmp(name, "doubled") ? NULL : (void *)(uintptr_t)doubled;
}

/* "r-xp" and so on, of the mapping with this address. */
static void
rights_of(const void *address, char rights[5])
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long from, to;
    char line[512];

    rights[0] = 0;
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) == 3 &&
            (uintptr_t)address >= from && (uintptr_t)address < to)
            break;
    if (maps)
        fclose(maps);
}

START_TEST(image_runs)
{
    char code[CODE_BYTES], rights[5];
    RtImage image = image_adding(5, code);
    RtMapped mapped;

    ck_assert(rt_image_map(&image, NULL, &mapped));
    rights_of(mapped.memory, rights);
    ck_assert_str_eq(rights, "r-xp");
    memset(code, 0, sizeof code); /* it has a copy */
    if (HAVE_CODE)
        ck_assert_int_eq(result_of(mapped.entry, 7), 12);
    rt_image_unmap(&mapped);
    ck_assert_ptr_null(mapped.memory);
    rt_image_unmap(&mapped);
}
END_TEST

START_TEST(image_calls_outside)
{
    static const char names[] = "first\0doubled";
    char code[CODE_BYTES], rights[5];
    RtImage image = image_jumping(names, sizeof names, code);
    RtMapped mapped;

    ck_assert(rt_image_map(&image, find_symbol, &mapped));
    rights_of(mapped.memory + TABLE_AT, rights);
    ck_assert_str_eq(rights, "r--p");
    if (HAVE_CODE)
        ck_assert_int_eq(result_of(mapped.entry, 21), 42);
    rt_image_unmap(&mapped);
}
END_TEST

START_TEST(image_is_refused)
{
    static const char names[] = "first\0doubled", other[] = "first\0other";
    char code[CODE_BYTES];
    RtImage good = image_jumping(names, sizeof names, code), bad[9];
    RtMapped mapped;

    for (int i = 0; i < 9; i++)
        bad[i] = good;
    bad[0].entry = CODE_BYTES;
    bad[1].table = TABLE_AT + 8;
    bad[2].table = 0;
    bad[3].names_bytes--;
    bad[4].names_bytes = 6;
    bad[5].names = other;
    bad[5].names_bytes = sizeof other;
    bad[6].nsymbols = 1;
    bad[7].nsymbols = 0;
    bad[8].bytes = 0;
    for (int i = 0; i < 9; i++)
        ck_assert_msg(!rt_image_map(&bad[i], find_symbol, &mapped), "%d", i);
    ck_assert(!rt_image_map(&good, NULL, &mapped));
}
END_TEST

/* -- Kernels -------------------------------------------------------------- */

/* Without Check's assertions: their lock may be held by another thread when a child is made. */
static RtKernel *
add(RtKernels *kernels, int number)
{
    char code[CODE_BYTES];
    RtImage image = image_adding(number, code);
    RtKernelCode made = {0};

    if (!rt_image_map(&image, NULL, &made.mapped))
        abort();
    return rt_kernels_add(kernels, &number, sizeof number, &made);
}

static RtKernel *
find(RtKernels *kernels, int number)
{
    return rt_kernels_find(kernels, &number, sizeof number);
}

START_TEST(kernels_are_found)
{
    RtKernels *kernels = rt_kernels_new(1 << 20);
    RtKernel *one, *again;

    ck_assert_ptr_null(find(kernels, 1));
    one = add(kernels, 1);
    ck_assert_ptr_eq(find(kernels, 1), one);
    again = add(kernels, 1); /* as another thread would */
    ck_assert_ptr_eq(again, one);
    ck_assert_ptr_null(find(kernels, 2));
    if (HAVE_CODE)
        ck_assert_int_eq(result_of(rt_kernel_entry(one), 1), 2);
    for (int i = 0; i < 3; i++)
        rt_kernel_drop(one);
    ck_assert_uint_eq(rt_kernels_stats(kernels).idle_kernels, 1);
    ck_assert_ptr_eq(find(kernels, 1), one);
    ck_assert_uint_eq(rt_kernels_stats(kernels).idle_kernels, 0);
    ck_assert_uint_eq(rt_kernels_stats(kernels).hits, 2);
    ck_assert_uint_eq(rt_kernels_stats(kernels).misses, 2);
    rt_kernels_free(kernels); /* the kernel lives on */
    if (HAVE_CODE)
        ck_assert_int_eq(result_of(rt_kernel_entry(one), 1), 2);
    rt_kernel_drop(one);
    rt_kernel_drop(NULL);
}
END_TEST

START_TEST(kernels_go_oldest_first)
{
    RtKernels *kernels = rt_kernels_new(0);
    RtKernel *held = add(kernels, 100), *found;
    size_t bytes = rt_kernels_stats(kernels).bytes;

    rt_kernels_set_bound(kernels, 4 * bytes);
    for (int i = 0; i < 3; i++)
        rt_kernel_drop(add(kernels, i));
    rt_kernel_drop(find(kernels, 0)); /* used again: 1 is the oldest now */
    rt_kernel_drop(add(kernels, 3));
    ck_assert_ptr_null(find(kernels, 1));
    for (int i = 0; i < 4; i++)
        if (i != 1) {
            found = find(kernels, i);
            ck_assert_ptr_nonnull(found);
            rt_kernel_drop(found);
        }
    ck_assert_uint_eq(rt_kernels_stats(kernels).evictions, 1);
    rt_kernels_set_bound(kernels, 0);
    ck_assert_uint_eq(rt_kernels_stats(kernels).kernels, 1);
    ck_assert_uint_eq(rt_kernels_stats(kernels).bytes, bytes);
    found = find(kernels, 100); /* what is held stays */
    ck_assert_ptr_eq(found, held);
    rt_kernel_drop(found);
    rt_kernel_drop(held);
    ck_assert_uint_eq(rt_kernels_stats(kernels).kernels, 0);
    rt_kernels_free(kernels);
}
END_TEST

static void
count_release(void *owner, void *foreign)
{
    *(int *)owner += *(int *)foreign;
}

START_TEST(kernels_of_another_kind)
{
    int released = 0, weight = 3;
    RtKernelCode foreign = {.entry = (RtKernelFn)(uintptr_t)doubled,
                            .release = count_release,
                            .owner = &released,
                            .foreign = &weight};
    RtKernelCode none = {.reason = "no lowering"};
    RtKernels *kernels = rt_kernels_new(1 << 20);
    RtKernel *kernel = rt_kernels_add(kernels, "f", 1, &foreign);

    ck_assert_int_eq(result_of(rt_kernel_entry(kernel), 4), 8);
    ck_assert_ptr_eq(rt_kernels_add(kernels, "f", 1, &foreign), kernel);
    ck_assert_int_eq(released, 3); /* the second one's */
    rt_kernel_drop(kernel);
    rt_kernel_drop(kernel);
    kernel = rt_kernels_add(kernels, "g", 1, &none);
    ck_assert(!rt_kernel_entry(kernel));
    ck_assert_str_eq(rt_kernel_reason(kernel), "no lowering");
    rt_kernel_drop(kernel);
    rt_kernels_set_bound(kernels, 0);
    ck_assert_int_eq(released, 6);
    kernel = rt_kernels_add(kernels, "f", 1, &foreign);
    rt_kernels_free(kernels);
    rt_kernel_drop(kernel); /* its owner may be gone */
    ck_assert_int_eq(released, 6);
}
END_TEST

START_TEST(code_holds_its_kernel)
{
    RtKernels *kernels = rt_kernels_new(0);
    RtCode *code = rt_code_new();

    code->kernel = add(kernels, 1);
    rt_code_drop(rt_code_hold(code));
    ck_assert_uint_eq(rt_kernels_stats(kernels).kernels, 1);
    rt_code_drop(code);
    ck_assert_uint_eq(rt_kernels_stats(kernels).kernels, 0);
    rt_kernels_free(kernels);
}
END_TEST

/* -- Threads -------------------------------------------------------------- */

enum { THREADS = 4, TURNS = 3000, NUMBERS = 24 };

static void *
use_kernels(void *argument)
{
    RtKernels *kernels = argument;
    unsigned seed = (unsigned)(uintptr_t)&seed;

    for (int i = 0; i < TURNS; i++) {
        int number = rand_r(&seed) % NUMBERS;
        RtKernel *kernel = find(kernels, number);

        if (!kernel)
            kernel = add(kernels, number);
        if (HAVE_CODE && result_of(rt_kernel_entry(kernel), i) != i + number)
            abort();
        rt_kernel_drop(kernel);
    }
    return NULL;
}

START_TEST(threads_run_what_others_evict)
{
    RtKernels *kernels = rt_kernels_new(5 * 4500);
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, use_kernels, kernels);
    for (int i = 0; i < 40; i++) {
        rt_kernels_set_bound(kernels, i % 2 ? 0 : 5 * 4500);
        usleep(1000);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_gt(rt_kernels_stats(kernels).evictions, 0);
    rt_kernels_set_bound(kernels, 0);
    ck_assert_uint_eq(rt_kernels_stats(kernels).bytes, 0);
    rt_kernels_free(kernels);
}
END_TEST

START_TEST(forks_find_the_lock_free)
{
    RtKernels *kernels = rt_kernels_new(5 * 4500);
    pthread_t thread;
    int status;

    pthread_create(&thread, NULL, use_kernels, kernels);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();

        if (!child) {
            rt_kernel_drop(add(kernels, 1000));
            _exit(0);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
    }
    pthread_join(thread, NULL);
    rt_kernels_free(kernels);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("runtime: kernels");
    TCase *tests = tcase_create("kernels");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, hashes);
    tcase_add_test(tests, cpu_is_the_same);
    tcase_add_test(tests, image_runs);
    tcase_add_test(tests, image_calls_outside);
    tcase_add_test(tests, image_is_refused);
    tcase_add_test(tests, kernels_are_found);
    tcase_add_test(tests, kernels_go_oldest_first);
    tcase_add_test(tests, kernels_of_another_kind);
    tcase_add_test(tests, code_holds_its_kernel);
    tcase_add_test(tests, threads_run_what_others_evict);
    tcase_add_test(tests, forks_find_the_lock_free);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
