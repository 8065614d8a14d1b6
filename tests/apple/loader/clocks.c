/* SPDX-License-Identifier: MIT */
#include "clocks.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "errors.h"
#include "import.h"
#include "mach.h"
#include "thread.h"

static uint64_t read_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t clocks_uptime_ns(void) {
    return read_ns(CLOCK_MONOTONIC);
}

struct timespec clocks_after(uint64_t ns) {
    uint64_t until = clocks_uptime_ns() + ns;
    return (struct timespec){(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
}

/* -1: not a clock of Darwin. */
static clockid_t clock_of(int darwin) {
    switch (darwin) {
    case 0:
        return CLOCK_REALTIME;
    case 6: /* CLOCK_MONOTONIC, which counts sleep */
    case 4:
    case 5:
        return CLOCK_BOOTTIME; /* MONOTONIC_RAW, and its coarse one */
    case 8:
    case 9:
        return CLOCK_MONOTONIC; /* UPTIME_RAW, and its coarse one */
    case 12:
        return CLOCK_PROCESS_CPUTIME_ID;
    case 16:
        return CLOCK_THREAD_CPUTIME_ID;
    default:
        return -1;
    }
}

static int fake_clock_gettime(int clock, struct timespec *out) {
    clockid_t host = clock_of(clock);
    return host == -1 ? errors_fail(EINVAL) : errors_of(clock_gettime(host, out));
}

static uint64_t fake_clock_gettime_nsec_np(int clock) {
    clockid_t host = clock_of(clock);
    if (host == CLOCK_PROCESS_CPUTIME_ID) {
        return thread_all_cpu_ns();
    }
    return host == -1 ? 0 : read_ns(host);
}

/* Ticks of 125/3 ns on arm64, as on Apple silicon: code that takes ticks for nanoseconds is seen. */
#if defined(__aarch64__)
#define NUMERATOR 125
#define DENOMINATOR 3
#else
#define NUMERATOR 1
#define DENOMINATOR 1
#endif

static uint64_t fake_mach_absolute_time(void) {
    return clocks_uptime_ns() / NUMERATOR * DENOMINATOR;
}

static uint64_t fake_mach_continuous_time(void) {
    return read_ns(CLOCK_BOOTTIME) / NUMERATOR * DENOMINATOR;
}

static int fake_mach_timebase_info(uint32_t *out) {
    out[0] = NUMERATOR;
    out[1] = DENOMINATOR;
    return KERN_SUCCESS;
}

struct time_of_day {
    int64_t seconds;
    int32_t microseconds;
};

static int fake_gettimeofday(struct time_of_day *out, void *zone) {
    (void)zone;
    uint64_t ns = read_ns(CLOCK_REALTIME);
    out->seconds = (int64_t)(ns / 1000000000u);
    out->microseconds = (int32_t)(ns % 1000000000u / 1000);
    return 0;
}

/* Suspensions must not end the sleep: the signal of the host would. */
static void sleep_until(struct timespec until) {
    thread_block();
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
    thread_unblock();
}

static int sleep_ns(uint64_t ns) {
    gate_show("___semwait_signal", 0x1003, 0, 1, 1);
    sleep_until(clocks_after(ns));
    return 0;
}

static int fake_nanosleep(const struct timespec *time, struct timespec *left) {
    if (left) {
        *left = (struct timespec){0, 0};
    }
    return sleep_ns((uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec);
}

static int fake_usleep(uint32_t us) {
    return sleep_ns(us * 1000ull);
}

static uint32_t fake_sleep(uint32_t seconds) {
    return (uint32_t)sleep_ns(seconds * 1000000000ull);
}

static int fake_mach_wait_until(uint64_t ticks) {
    uint64_t ns = ticks / DENOMINATOR * NUMERATOR;
    sleep_until((struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)});
    return KERN_SUCCESS;
}

static int fake_semwait_signal(void) {
    return 0; /* only a name to show */
}

const struct import imports_of_clock[] = {
    PURE("clock_gettime", fake_clock_gettime),
    PURE("clock_gettime_nsec_np", fake_clock_gettime_nsec_np),
    PURE("mach_absolute_time", fake_mach_absolute_time),
    PURE("mach_continuous_time", fake_mach_continuous_time),
    LIBRARY("mach_timebase_info", fake_mach_timebase_info),
    LIBRARY("gettimeofday", fake_gettimeofday),
    LIBRARY("time", time),
    LIBRARY("nanosleep", fake_nanosleep),
    LIBRARY("usleep", fake_usleep),
    LIBRARY("sleep", fake_sleep),
    KERNEL("mach_wait_until", fake_mach_wait_until, -90),
    KERNEL("__semwait_signal", fake_semwait_signal, 334),
    IMPORT_END,
};
