/* SPDX-License-Identifier: MIT
 *
 * ns per frame of a warm walk, against libunwind's unw_backtrace (its cached walk) over the same frames: a
 * stack some 35 deep, built without frame pointers where the compiler lets us say so. Rounds of both are
 * interleaved, and the median round counts. Beside it the first walk of all, with nothing cached, against
 * libunwind's unw_step.
 */
#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "bench.h"
#include "capture/arch/linux_context.h"
#include "unwind/unwind.h"

#define ROUNDS 301
#define WALKS 200 /* in a round */
#define DEPTH 32
#define FRAMES 128
#define STACK_BYTES (32u * 1024u)

#if defined(__clang__)
#define NO_FRAME_POINTER __attribute__((noinline))
#else
#define NO_FRAME_POINTER __attribute__((noipa, optimize("omit-frame-pointer")))
#endif

static struct hd_modules modules;
static struct hd_unwinder *unwinder;
static uint8_t stack[STACK_BYTES];
static int result;

/* The stack as a capture would have it. */
static uint32_t copy_stack(uint64_t sp) {
    int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    ssize_t n = pread(fd, stack, sizeof stack, (off_t)sp);
    for (size_t half = sizeof stack; n < 0 && half > 512; half -= 512) {
        n = pread(fd, stack, half, (off_t)sp);
    }
    close(fd);
    return n > 0 ? (uint32_t)n : 0;
}

static void measure_cold(const struct hd_regs *regs, uint32_t bytes, unw_context_t *context) {
    static struct hd_frame frames[FRAMES];
    static double ours[ROUNDS], theirs[ROUNDS];
    struct hd_walk walk = {0};
    unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_NONE);
    for (int round = 0; round < ROUNDS / 10; round++) {
        unw_cursor_t cursor;
        hd_unwinder_flush(unwinder);
        uint64_t t0 = bench_now_ns();
        hd_unwind(unwinder, regs, stack, regs->sp, bytes, 0, frames, FRAMES, &walk);
        uint64_t t1 = bench_now_ns();
        int n = 1;
        unw_init_local(&cursor, context);
        while (unw_step(&cursor) > 0) {
            n++;
        }
        uint64_t t2 = bench_now_ns();
        ours[round] = (double)(t1 - t0) / walk.count;
        theirs[round] = (double)(t2 - t1) / n;
    }
    unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_GLOBAL);
    double a = bench_median(ours, ROUNDS / 10), b = bench_median(theirs, ROUNDS / 10);
    bench_report("unwind.cold", a, "ns", b, a <= b && a <= 1000, "unw_step without cache", b);
}

static void measure(void) {
    static struct hd_frame frames[FRAMES];
    static void *addresses[FRAMES];
    static double ours[ROUNDS], theirs[ROUNDS];
    unw_context_t context;
    struct hd_regs regs;
    struct hd_walk walk = {0};
    unw_getcontext(&context);
    hd_machine_context_regs(&regs, (const ucontext_t *)&context);
    uint32_t bytes = copy_stack(regs.sp);
    measure_cold(&regs, bytes, &context);
    int n = 0;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t t0 = bench_now_ns();
        for (int i = 0; i < WALKS; i++) {
            hd_unwind(unwinder, &regs, stack, regs.sp, bytes, 0, frames, FRAMES, &walk);
        }
        uint64_t t1 = bench_now_ns();
        for (int i = 0; i < WALKS; i++) {
            n = unw_backtrace(addresses, FRAMES);
        }
        uint64_t t2 = bench_now_ns();
        ours[round] = (double)(t1 - t0) / WALKS / walk.count;
        theirs[round] = (double)(t2 - t1) / WALKS / n;
    }
    double a = bench_median(ours, ROUNDS), b = bench_median(theirs, ROUNDS);
    bench_report("unwind.warm", a, "ns", b, a <= b, "unw_backtrace", b);
    /* Both begin in this function, at different calls: but for that address the frames are the same ones. */
    int equal = 0, whole = walk.stop == HD_STOP_ROOT && (int)walk.count == n;
    for (int i = 1; whole && i < n; i++) {
        equal += frames[i].pc == (uint64_t)(uintptr_t)addresses[i];
    }
    bench_report("unwind.equal", whole ? 100.0 * (equal + 1) / n : 0, "%", 100, whole && equal == n - 1,
                 "unw_backtrace", 100);
    result = whole && equal == n - 1 ? 0 : 1;
}

/* Frames of several shapes, so that rules with few and with many saved registers occur. */
NO_FRAME_POINTER static long deep(int depth, long a, long b, long c, long d) {
    volatile char local[64];
    if (depth == 0) {
        measure();
    } else {
        local[depth] = (char)deep(depth - 1, a + b, b + c, c + d, d + a);
    }
    return a + b * 3 + c * 5 + d * 7 + local[depth];
}

/* Reports warm and cold walks. 0, or 1 when they do not agree with libunwind's or cannot be measured. */
int bench_unwind(void) {
    int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    unwinder = mmap(NULL, hd_unwinder_bytes(), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (fd < 0 || unwinder == MAP_FAILED) {
        return 1;
    }
    hd_modules_init_live(&modules, fd);
    hd_unwinder_init(unwinder, &modules);
    result = 1;
    (void)deep(DEPTH, 1, 2, 3, 4);
    munmap(unwinder, hd_unwinder_bytes());
    close(fd);
    return result;
}
