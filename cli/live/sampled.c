/* SPDX-License-Identifier: MIT */
#include "cli/live/sampled.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "os/os.h"
#include "outside/linux/perf_ring.h"

#define PERIOD_NS 50000u /* of the thread's own time until its sample */
#define RING_BYTES (128u << 10)
#define STACK_ROOM (SAMPLED_STACK_BYTES / 8 * 8)

/* A register's number in the kernel's sample (asm/perf_regs.h), by its DWARF number; then of sp and pc. */
#if defined(__x86_64__)
static const uint8_t kernel_number[] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23};
#define KERNEL_SP 7u
#define KERNEL_PC 8u
#define KERNEL_REGISTERS UINT64_C(0xff01ff)
#elif defined(__aarch64__)
static const uint8_t kernel_number[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                        16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30};
#define KERNEL_SP 31u
#define KERNEL_PC 32u
#define KERNEL_REGISTERS UINT64_C(0x1ffffffff)
#endif

struct sampled {
    struct hd_perf_ring ring;
};

/* A user without rights gets no samples of the kernel's time. */
static int open_event(struct sampled *s, int tid, bool user_only) {
    const struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE,
                                      .config = PERF_COUNT_SW_TASK_CLOCK,
                                      .sample_period = PERIOD_NS,
                                      .sample_type =
                                          PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
                                      .disabled = 1,
                                      .exclude_kernel = user_only,
                                      .exclude_hv = 1,
                                      .wakeup_events = 1,
                                      .sample_regs_user = KERNEL_REGISTERS,
                                      .sample_stack_user = STACK_ROOM};
    return hd_perf_ring_open(&s->ring, &a, tid, RING_BYTES);
}

/* One event stays open for all samples. */
static void keep_on(void) {
    static int kept = -1;
    if (kept < 0) {
        kept = hd_perf_keep_on();
    }
}

int sampled_open(struct sampled **out, int tid) {
    struct sampled *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return -ENOMEM;
    }
    keep_on();
    int rc = open_event(s, tid, false);
    if (rc == -EACCES || rc == -EPERM) {
        rc = open_event(s, tid, true);
    }
    if (rc == 0 && ioctl(s->ring.fd, PERF_EVENT_IOC_REFRESH, 1) != 0) {
        rc = -errno;
    }
    if (rc != 0) {
        sampled_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

void sampled_close(struct sampled *s) {
    if (s != NULL) {
        hd_perf_ring_close(&s->ring);
        free(s);
    }
}

/* The kernel writes the mask's registers in the order of their numbers. */
static void take_registers(const struct hd_perf_ring *r, uint64_t *at, struct hd_regs *regs) {
    uint64_t value[64] = {0};
    for (unsigned i = 0; i < 64; i++) {
        if ((KERNEL_REGISTERS >> i & 1) != 0) {
            hd_perf_ring_copy(r, at, &value[i], sizeof value[i]);
        }
    }
    for (unsigned i = 0; i < sizeof kernel_number; i++) {
        regs->r[i] = value[kernel_number[i]];
        regs->valid |= UINT64_C(1) << i;
    }
    regs->sp = value[KERNEL_SP];
    regs->pc = value[KERNEL_PC];
}

static int take_sample(const struct hd_perf_ring *r, uint64_t at, uint8_t *stack, struct hd_capture *c) {
    uint64_t abi = 0, size = 0, used = 0;
    hd_perf_ring_copy(r, &at, &c->at_ns, sizeof c->at_ns);
    hd_perf_ring_copy(r, &at, &abi, sizeof abi);
    if (abi != PERF_SAMPLE_REGS_ABI_64) {
        return -ENOTSUP;
    }
    take_registers(r, &at, &c->regs);
    hd_perf_ring_copy(r, &at, &size, sizeof size);
    if (size != 0 && size <= STACK_ROOM) {
        hd_perf_ring_copy(r, &at, stack, size);
        hd_perf_ring_copy(r, &at, &used, sizeof used);
    }
    c->stack = stack;
    c->stack_addr = c->regs.sp;
    c->stack_bytes = (uint32_t)(used <= size ? used : 0);
    c->truncated = used == size;
    return 0;
}

/* Takes the newest sample in the ring since `since_ns`; other records may come before it. The kernel makes
 * the next one when the ring is empty. */
static int take_newest(struct sampled *s, uint64_t since_ns, uint8_t *stack, struct hd_capture *c) {
    struct hd_perf_record record;
    bool any = false;
    int rc = -EAGAIN;
    *c = (struct hd_capture){.at_ns = hd_os_now_ns(),
                             .syscall_nr = HD_SYSCALL_NONE,
                             .way = HD_WAY_SAMPLED,
                             .state = HD_RUN_RUNNING};
    while (hd_perf_ring_next(&s->ring, &record)) {
        if (record.head.type == PERF_RECORD_SAMPLE) {
            any = true;
            rc = take_sample(&s->ring, record.body, stack, c);
            rc = rc == 0 && c->at_ns < since_ns ? -EAGAIN : rc;
        }
    }
    if (any) {
        (void)ioctl(s->ring.fd, PERF_EVENT_IOC_REFRESH, 1);
    }
    return rc;
}

int sampled_next(struct sampled *s, uint64_t since_ns, uint64_t until_ns, uint8_t *stack,
                 struct hd_capture *c) {
    int rc = take_newest(s, since_ns, stack, c);
    uint64_t now_ns = hd_os_now_ns();
    if (rc == -EAGAIN && until_ns > now_ns) {
        struct pollfd one = {.fd = s->ring.fd, .events = POLLIN};
        poll(&one, 1, (int)((until_ns - now_ns) / HD_NS_PER_MS) + 1);
        rc = take_newest(s, since_ns, stack, c);
    }
    return rc;
}

int sampled_capture(int tid, uint64_t until_ns, uint8_t *stack, struct hd_capture *c) {
    struct sampled *s;
    int rc = sampled_open(&s, tid);
    if (rc == 0) {
        rc = sampled_next(s, 0, until_ns, stack, c);
        sampled_close(s);
    }
    return rc;
}
