/* SPDX-License-Identifier: MIT
 *
 * For programs that run on a Mac and in the loader. fake() finds a function of the loader. A Mac has none,
 * and a program leaves out the checks that need one.
 */
#ifndef APPLE_SUBJECT_H
#define APPLE_SUBJECT_H

#include <dlfcn.h>
#include <mach/mach.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int failed_checks;

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            printf("FAILED %s:%d: %s\n", __FILE_NAME__, __LINE__, #condition); \
            failed_checks++;                                                   \
        }                                                                      \
    } while (0)

#define CHECK_EQUAL(expected, actual)                                                                      \
    do {                                                                                                   \
        long long want_ = (long long)(expected), got_ = (long long)(actual);                               \
        if (want_ != got_) {                                                                               \
            printf("FAILED %s:%d: %s is %lld, not %lld\n", __FILE_NAME__, __LINE__, #actual, got_, want_); \
            failed_checks++;                                                                               \
        }                                                                                                  \
    } while (0)

static inline void *fake(const char *name) {
    return dlsym(RTLD_DEFAULT, name);
}

static inline uint64_t now_ns(void) {
    return clock_gettime_nsec_np(CLOCK_UPTIME_RAW);
}

static inline void nap_ms(unsigned ms) {
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

/* The references of all ports; -1: not in the loader. */
static inline int port_references(int *names) {
    int (*count)(int *) = (int (*)(int *))fake("fake_ports");
    return count ? count(names) : -1;
}

/* No call between suspend and resume broke the rule. */
static inline void check_violations(void) {
    int (*violations)(const char **) = (int (*)(const char **))fake("fake_violations");
    const char *names = "";
    int count = violations ? violations(&names) : 0;
    if (count != 0) {
        printf("FAILED: %d calls between suspend and resume:%s\n", count, names);
        failed_checks++;
    }
}

#endif
