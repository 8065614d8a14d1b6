/* SPDX-License-Identifier: MIT
 *
 * Captures of this process's own threads for tests, and libunwind's word on them.
 */
#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/arch/linux_context.h"
#include "unwind_live.h"

/* The end of the stack that `sp` is on. Also called in a handler: no stdio. */
static uint64_t stack_top(uint64_t sp) {
    static char text[512 * 1024];
    size_t used = 0;
    ssize_t n;
    int fd = open("/proc/self/maps", O_RDONLY);
    while ((n = read(fd, text + used, sizeof text - 1 - used)) > 0) {
        used += (size_t)n;
    }
    close(fd);
    text[used] = 0;
    for (char *line = text; line != NULL && *line != 0;) {
        char *rest;
        uint64_t lo = strtoull(line, &rest, 16), hi = *rest == '-' ? strtoull(rest + 1, NULL, 16) : 0;
        if (sp >= lo && sp < hi) {
            return hi;
        }
        line = strchr(line, '\n');
        line += line != NULL;
    }
    abort();
}

__attribute__((no_sanitize("address"))) static void copy_stack(struct unwind_capture *c, uint64_t top) {
    c->stack_addr = c->regs.sp - HD_RED_ZONE; /* as a capture does */
    uint64_t n = top - c->stack_addr;
    c->stack_bytes = n < UNWIND_STACK_BYTES ? (uint32_t)n : UNWIND_STACK_BYTES;
    int fd = open("/proc/self/mem", O_RDONLY);
    if (pread(fd, c->stack, c->stack_bytes, (off_t)c->stack_addr) != (ssize_t)c->stack_bytes) {
        abort();
    }
    close(fd);
}

void unwind_capture_context(struct unwind_capture *c, void *ucontext, int signal) {
    unw_cursor_t cursor;
    hd_machine_context_regs(&c->regs, ucontext);
    c->peer_count = 0;
    unw_init_local2(&cursor, ucontext, signal ? UNW_INIT_SIGNAL_FRAME : 0);
    do {
        unw_word_t ip;
        unw_get_reg(&cursor, UNW_REG_IP, &ip);
        if (ip == 0) {
            break;
        }
        c->peer[c->peer_count++] = ip;
    } while (c->peer_count < UNWIND_FRAMES && unw_step(&cursor) > 0);
    copy_stack(c, stack_top(c->regs.sp));
}

static struct unwind_capture *wanted;
static sem_t done;

static void on_signal(int number, siginfo_t *info, void *ucontext) {
    (void)number;
    (void)info;
    unwind_capture_context(wanted, ucontext, 1);
    sem_post(&done);
}

void unwind_capture_thread(struct unwind_capture *c, pthread_t thread) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    wanted = c;
    sem_init(&done, 0, 0);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    assert_int_equal(pthread_kill(thread, SIGUSR1), 0);
    while (sem_wait(&done) != 0)
        ;
}

int unwind_wait_blocked(int tid) {
    char path[64], text[128];
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", tid);
    for (int i = 0; i < 60000; i++) {
        int fd = open(path, O_RDONLY);
        ssize_t n = read(fd, text, sizeof text - 1);
        close(fd);
        if (n > 0 && text[0] >= '0' && text[0] <= '9') {
            return 1;
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return 0;
}

static struct hd_modules modules;
static struct hd_unwinder *unwinder;

struct hd_unwinder *unwind_unwinder(void) {
    if (unwinder == NULL) {
        hd_modules_init_live(&modules, open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
        static _Alignas(64) uint8_t memory[256 * 1024];
        assert_true(hd_unwinder_bytes() <= sizeof memory);
        unwinder = (struct hd_unwinder *)memory;
        hd_unwinder_init(unwinder, &modules);
    }
    return unwinder;
}

struct hd_modules *unwind_modules(void) {
    (void)unwind_unwinder();
    return &modules;
}

void unwind_walk(const struct unwind_capture *c, bool sp_and_pc_only, uint64_t known_root,
                 struct hd_frame *frames, uint32_t max, struct hd_walk *out) {
    struct hd_regs regs = c->regs;
    if (sp_and_pc_only) {
        memset(regs.r, 0xa5, sizeof regs.r);
        regs.valid = 0;
    }
    hd_unwind(unwind_unwinder(), &regs, c->stack, c->stack_addr, c->stack_bytes, known_root, frames, max,
              out);
}

static void print_pc(const char *who, unsigned i, uint64_t pc, unsigned trust) {
    Dl_info info = {0};
    dladdr((void *)(uintptr_t)(pc - 1), &info);
    fprintf(stderr, "%s %3u %012lx trust %u %s %s\n", who, i, pc, trust,
            info.dli_fname ? info.dli_fname : "?", info.dli_sname ? info.dli_sname : "?");
}

void unwind_assert_same(const struct unwind_capture *c, const struct hd_frame *frames,
                        const struct hd_walk *walk) {
    uint32_t i = 0;
    while (i < walk->count && i < c->peer_count && frames[i].pc == c->peer[i]) {
        i++;
    }
    if (i == walk->count && i == c->peer_count && walk->stop == HD_STOP_ROOT) {
        return;
    }
    for (uint32_t k = 0; k < walk->count; k++) {
        print_pc("ours", k, frames[k].pc, frames[k].trust);
    }
    for (uint32_t k = 0; k < c->peer_count; k++) {
        print_pc("peer", k, c->peer[k], 0);
    }
    fail_msg("frame %u differs; ours %u (stop %u), libunwind %u", i, walk->count, walk->stop, c->peer_count);
}
