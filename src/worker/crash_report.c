/* SPDX-License-Identifier: MIT
 *
 * A crash becomes a report: the stack of the thread that crashed, which waits in its handler meanwhile, the
 * other threads, and the hang that was open. Worker: no allocation.
 */
#include "worker/crash_report.h"

#include <signal.h>
#include <string.h>

#include "capture/arch/machine.h"
#include "crash/crash.h"
#include "publish/describe.h"
#include "publish/publish.h"
#include "record/uuid.h"
#include "worker/crash_exception.h"
#include "worker/facts.h"
#include "worker/other_threads.h"

#define PAGE 4096u

/* The thread's stack from its stack pointer on, as far as it can be read. */
static uint32_t copy_stack(struct hd_worker *k, uint64_t from) {
    uint32_t bytes = 0;
    while (bytes < sizeof k->others.stack) {
        uint32_t n = PAGE - (uint32_t)((from + bytes) % PAGE);
        n = n < sizeof k->others.stack - bytes ? n : (uint32_t)sizeof k->others.stack - bytes;
        if (!hd_memory_read(&k->modules.memory, from + bytes, k->others.stack + bytes, n)) {
            break;
        }
        bytes += n;
    }
    return bytes;
}

/* A call of a function that is not there (a null pointer): the caller is the one to name. */
static void leave_bad_call(struct hd_worker *k, struct hd_regs *regs) {
    uint8_t byte;
    if (!hd_memory_read(&k->modules.memory, regs->pc, &byte, sizeof byte)) {
        hd_machine_return(regs, k->others.stack + HD_RED_ZONE);
    }
}

static uint32_t unwind(struct hd_worker *k, const struct hd_crash *crash, struct hd_walk *walk) {
    struct hd_regs regs = crash->regs;
    uint64_t from = regs.sp - HD_RED_ZONE;
    uint32_t bytes = copy_stack(k, from);
    if (bytes < HD_RED_ZONE + sizeof(uint64_t)) {
        *walk = (struct hd_walk){.stop = HD_STOP_UNREADABLE};
        k->frames[0] = (struct hd_frame){.pc = regs.pc, .trust = HD_TRUST_CONTEXT};
        return 1;
    }
    leave_bad_call(k, &regs);
    hd_unwind(k->unwinder, &regs, k->others.stack, from, bytes, 0, k->frames, HD_FRAMES_MAX, walk);
    const struct hd_script_stack stack = {.tid = hd_thread_id_tid(crash->thread),
                                          .cut_at = walk->cut != 0 ? HD_FRAMES_MAX / 2 : 0,
                                          .bytes = k->others.stack,
                                          .address = from,
                                          .size = bytes};
    return hd_scripts_expand(&k->scripts, k->frames, walk->count, HD_FRAMES_MAX + HD_SCRIPT_FRAMES_MAX,
                             &stack);
}

/* The hang that was open takes the crash's place: one report has both. */
static void take_over(struct hd_worker *k, struct hd_report *r, uint64_t at_ns) {
    for (unsigned i = 0; i < HD_TURNS_MAX; i++) {
        struct hd_turn *h = &k->turns.turn[i];
        uint64_t age_ns = at_ns - h->times.start_ns;
        if (!h->used || at_ns < h->times.start_ns || age_ns < h->times.threshold_ns) {
            continue;
        }
        if (age_ns > r->duration_ns) {
            r->duration_ns = age_ns;
            r->threshold_ns = h->times.threshold_ns;
            r->loop_name = h->loop.name;
            r->loop_thread = h->loop.thread;
        }
        if (h->report.opened) {
            hd_publish_withdraw(&k->publisher, h);
            h->report.opened = false;
        }
    }
}

void hd_crash_report(struct hd_worker *k) {
    const struct hd_crash *crash = hd_crash_taken();
    struct hd_walk walk;
    struct hd_tree tree;
    struct hd_crash_exception exception = {.type = {0}};
    if (crash == NULL) {
        return;
    }
    uint64_t ago_ns = hd_os_now_ns() - crash->at_ns;
    hd_threads_capture(k, crash->thread, HD_THREAD_ID_NONE);
    uint32_t count = unwind(k, crash, &walk);
    if (crash->signal == SIGABRT) {
        hd_crash_exception_read(&k->modules, k->frames, count, &exception);
    }
    hd_tree_init(&tree, &k->turns.pool);
    hd_tree_charge(&tree, hd_tree_add(&tree, k->frames, count, crash->at_ns), 1); /* it is all there is */
    struct hd_report r;
    struct hd_facts facts;
    hd_facts_take(&k->others, &k->process, &facts);
    hd_describe_run(&k->publisher, HD_REPORT_CRASH, &r);
    hd_describe_threads(&facts, &r);
    r.started_wall_ns = hd_os_wall_ns() - ago_ns;
    r.started_ns = crash->at_ns;
    r.thread_count = (int)r.thread_records + 1;
    r.tree = &tree;
    r.hot_way = HD_WAY_SIGNALLED;
    r.hot_stop = walk.stop;
    r.hot_cut = walk.cut;
    r.crash = crash;
    r.exception = &exception;
    take_over(k, &r, crash->at_ns);
    hd_uuid_make(r.id, r.started_wall_ns);
    int rc = hd_spool_write(&k->publisher.spool, &r, k->publisher.scratch, false);
    atomic_fetch_add_explicit(&k->run->record->hangs.reports, rc == 0, memory_order_relaxed);
    hd_tree_free(&tree);
    hd_crash_written();
}
