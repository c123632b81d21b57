/* sanitized.h - for suites that fork and make threads: whether a sanitizer is in, and its options.
*/
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if !defined(SANITIZED)
#define SANITIZED 0
#endif

/* ThreadSanitizer otherwise ends a child that makes threads after a fork. */
const char *__tsan_default_options(void);

const char *
__tsan_default_options(void)
{
    return "die_after_fork=0:report_thread_leaks=0";
}
