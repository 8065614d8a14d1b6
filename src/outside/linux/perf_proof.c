/* SPDX-License-Identifier: MIT */
#include "outside/linux/perf_proof.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "os/os.h"
#include "outside/arch/perf_registers.h"

/* Passes until a breakpoint switches itself off. Another wait may pass the same instruction, as all callers
 * of one wait function do. If all passes are of other waits, the next limit is greater. */
#define PASSES 4u
#define PASSES_MAX 64u
#define RING_BYTES 4096u

static bool is_idle(const struct hd_poll_kind *k) {
    return k->used && k->verdict == HD_WAIT_IDLE;
}

static bool add_place(struct hd_perf_proof *p, uint64_t pc) {
    for (unsigned i = 0; i < p->places; i++) {
        if (p->pc[i] == pc) {
            return true;
        }
    }
    if (p->places == HD_PROOF_PLACES) {
        return false;
    }
    p->pc[p->places++] = pc;
    return true;
}

static int find_places(struct hd_perf_proof *p, const struct hd_poll_kinds *kinds) {
    *p = (struct hd_perf_proof){0};
    for (unsigned i = 0; i < HD_PROOF_PLACES; i++) {
        p->ring[i].fd = -1;
    }
    for (unsigned i = 0; i < HD_HOOK_KINDS; i++) {
        if (is_idle(&kinds->kind[i]) && !add_place(p, kinds->kind[i].pc)) {
            return -ENOSPC;
        }
    }
    return p->places == 0 ? -ENOENT : 0;
}

static struct perf_event_attr event_at(uint64_t pc) {
    return (struct perf_event_attr){.type = PERF_TYPE_BREAKPOINT,
                                    .bp_type = HW_BREAKPOINT_X,
                                    .bp_addr = pc,
                                    .bp_len = sizeof(long),
                                    .sample_period = 1,
                                    .sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER,
                                    .sample_regs_user = UINT64_C(1) << HD_PERF_SP,
                                    .disabled = 1,
                                    .exclude_kernel = 1,
                                    .exclude_hv = 1};
}

__attribute__((noinline)) static void pass(void) {
    __asm__ volatile("");
}

int hd_perf_proof_try(void) {
    struct perf_event_attr a = event_at((uint64_t)(uintptr_t)pass);
    struct hd_perf_ring r;
    uint64_t passes = 0;
    a.disabled = 0;
    int rc = hd_perf_ring_open(&r, &a, 0, 0);
    if (rc != 0) {
        return rc;
    }
    pass();
    bool stopped = read(r.fd, &passes, sizeof passes) == (ssize_t)sizeof passes && passes != 0;
    hd_perf_ring_close(&r);
    return stopped ? 0 : -ENOTSUP;
}

/* The event of one place. It is on at once. */
static int open_place(struct hd_perf_proof *p, unsigned i) {
    const struct perf_event_attr a = event_at(p->pc[i]);
    int rc = hd_perf_ring_open(&p->ring[i], &a, p->tid, RING_BYTES);
    if (rc == 0) {
        (void)ioctl(p->ring[i].fd, PERF_EVENT_IOC_REFRESH, p->passes);
        p->left[i] = p->passes;
    }
    return rc;
}

int hd_perf_proof_open(struct hd_perf_proof *p, pid_t tid, const struct hd_poll_kinds *kinds) {
    int rc = find_places(p, kinds);
    p->tid = tid;
    p->passes = PASSES;
    for (unsigned i = 0; rc == 0 && i < p->places; i++) {
        rc = open_place(p, i);
    }
    if (rc != 0) {
        hd_perf_proof_close(p);
        return rc;
    }
    p->since_ns = hd_os_now_ns();
    return 0;
}

void hd_perf_proof_close(struct hd_perf_proof *p) {
    for (unsigned i = 0; i < p->places; i++) {
        hd_perf_ring_close(&p->ring[i]);
    }
    p->places = 0;
}

static bool is_of_loop(const struct hd_poll_kinds *kinds, uint64_t pc, uint64_t sp) {
    for (unsigned i = 0; i < HD_HOOK_KINDS; i++) {
        const struct hd_poll_kind *k = &kinds->kind[i];
        if (is_idle(k) && k->pc == pc && k->sp == sp) {
            return true;
        }
    }
    return false;
}

/* Returns how many times the thread has passed this place. */
static unsigned read_place(struct hd_perf_proof *p, unsigned i, const struct hd_poll_kinds *kinds,
                           bool *loops) {
    struct hd_perf_record record;
    unsigned passes = 0;
    while (hd_perf_ring_next(&p->ring[i], &record)) {
        uint64_t at_ns, abi, sp = 0;
        if (record.head.type != PERF_RECORD_SAMPLE) {
            continue;
        }
        hd_perf_ring_copy(&p->ring[i], &record.body, &at_ns, sizeof at_ns);
        hd_perf_ring_copy(&p->ring[i], &record.body, &abi, sizeof abi);
        if (abi != PERF_SAMPLE_REGS_ABI_NONE) {
            hd_perf_ring_copy(&p->ring[i], &record.body, &sp, sizeof sp);
        }
        passes++;
        if (is_of_loop(kinds, p->pc[i], sp)) {
            p->passed_ns = at_ns > p->passed_ns ? at_ns : p->passed_ns;
            *loops = true;
        }
    }
    return passes;
}

/* Gives a place back its passes. Linux 6.18 does not switch a breakpoint on again that has reached its limit,
 * so that one is opened anew. 1: it was off for a moment; 0: it was not; or an error. */
static int give_back(struct hd_perf_proof *p, unsigned i, const struct hd_poll_kinds *kinds, bool *loops) {
    unsigned passes = read_place(p, i, kinds, loops);
    if (passes == 0) {
        return 0;
    }
    (void)ioctl(p->ring[i].fd, PERF_EVENT_IOC_REFRESH, passes);
    unsigned more = read_place(p, i, kinds, loops);
    if (passes + more < p->left[i]) { /* the breakpoint was on at the ioctl */
        p->left[i] -= more;
        return 0;
    }
    p->passes = *loops ? PASSES : p->passes < PASSES_MAX ? 4 * p->passes : PASSES_MAX;
    hd_perf_ring_close(&p->ring[i]);
    int rc = open_place(p, i);
    return rc != 0 ? rc : 1;
}

int hd_perf_proof_look(struct hd_perf_proof *p, const struct hd_poll_kinds *kinds) {
    bool loops = false, was_off = false;
    for (unsigned i = 0; i < p->places; i++) {
        int rc = give_back(p, i, kinds, &loops);
        if (rc < 0) {
            return rc;
        }
        was_off |= rc > 0;
    }
    if (loops || was_off) {
        p->since_ns = hd_os_now_ns();
    }
    return loops || was_off;
}
