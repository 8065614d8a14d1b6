/* SPDX-License-Identifier: MIT
 *
 * The crashed thread is blocked in our signal handler until the report is written. So the worker can read its
 * stack in place. The disk may block the worker here. On the worker thread.
 */
#include "worker/crash_report.h"

#include <signal.h>
#include <string.h>

#include "capture/arch/machine.h"
#include "crash/crash.h"
#include "publish/describe.h"
#include "publish/life.h"
#include "publish/publish.h"
#include "record/uuid.h"
#include "worker/crash_exception.h"
#include "worker/facts.h"

#define PAGE 4096u

/* ---- the stack -------------------------------------------------------------------------------- */

/* Copies up to `size` bytes from address `from` into `stack`, page by page. Stops at the first page that is
 * not readable. Returns the number of bytes copied. */
static uint32_t copy_stack(const struct hd_memory *memory, uint64_t from, uint8_t *stack, uint32_t size) {
    uint32_t bytes = 0;
    while (bytes < size) {
        uint32_t n = PAGE - (uint32_t)((from + bytes) % PAGE);
        n = n < size - bytes ? n : size - bytes;
        if (!hd_memory_read(memory, from + bytes, stack + bytes, n)) {
            break;
        }
        bytes += n;
    }
    return bytes;
}

/* If the program called an address without code, such as a null pointer, moves the registers back to the
 * caller. The report then names the caller. */
static void leave_bad_call(const struct hd_memory *memory, struct hd_regs *regs, const uint8_t *stack) {
    uint8_t byte;
    if (!hd_memory_read(memory, regs->pc, &byte, sizeof byte)) {
        hd_machine_return(regs, stack + HD_RED_ZONE);
    }
}

/* Copies the crashed thread's stack, and unwinds it into s->frames. `stack`: a buffer of
 * HD_STACK_BYTES_MAX. Returns the number of frames. */
static uint32_t unwind(struct hd_stacks *s, const struct hd_crash *crash, uint8_t *stack,
                       struct hd_walk *walk) {
    struct hd_regs regs = crash->regs;
    uint64_t from = regs.sp - HD_RED_ZONE;
    uint32_t bytes = copy_stack(&s->modules.memory, from, stack, HD_STACK_BYTES_MAX);
    if (bytes < HD_RED_ZONE + sizeof(uint64_t)) {
        *walk = (struct hd_walk){.stop = HD_STOP_UNREADABLE};
        s->frames[0] = (struct hd_frame){.pc = regs.pc, .trust = HD_TRUST_CONTEXT};
        return 1;
    }
    leave_bad_call(&s->modules.memory, &regs, stack);
    hd_unwind(s->unwinder, &regs, stack, from, bytes, 0, s->frames, HD_FRAMES_MAX, walk);
    const struct hd_script_stack copy = {.tid = hd_thread_id_tid(crash->thread),
                                         .cut_at = walk->cut != 0 ? HD_FRAMES_MAX / 2 : 0,
                                         .bytes = stack,
                                         .address = from,
                                         .size = bytes};
    return hd_scripts_expand(&s->scripts, s->frames, walk->count, HD_FRAMES_MAX + HD_SCRIPT_FRAMES_MAX,
                             &copy);
}

/* ---- the report ------------------------------------------------------------------------------- */

/* Withdraws the reports of the hangs that last at the time of the crash, because the crash report replaces
 * them. Stores the duration and the loop of the longest hang in the crash report. */
static void take_over_hangs(struct hd_worker *worker, struct hd_report *r, uint64_t at_ns) {
    for (unsigned i = 0; i < HD_TURNS_MAX; i++) {
        struct hd_turn *turn = &worker->turns.turn[i];
        uint64_t age_ns = at_ns - turn->times.start_ns;
        if (!turn->used || at_ns < turn->times.start_ns || age_ns < turn->times.threshold_ns) {
            continue;
        }
        if (age_ns > r->duration_ns) {
            r->duration_ns = age_ns;
            r->threshold_ns = turn->times.threshold_ns;
            r->loop_name = turn->loop.name;
            r->loop_thread = turn->loop.thread;
        }
        if (turn->report.opened) {
            hd_publish_withdraw(&worker->publisher, turn);
            turn->report.opened = false;
        }
    }
}

static void write_report(struct hd_worker *worker, const struct hd_crash *crash, const struct hd_walk *walk,
                         const struct hd_crash_exception *exception, const struct hd_tree *tree) {
    struct hd_publisher *p = &worker->publisher;
    struct hd_report r;
    struct hd_facts facts;
    hd_facts_take(&worker->threads, &worker->process, &facts);
    hd_describe_run(p, HD_REPORT_CRASH, &r);
    hd_describe_threads(&facts, &r);
    r.started_wall_ns = hd_os_wall_ns() - (hd_os_now_ns() - crash->at_ns);
    r.started_ns = crash->at_ns;
    r.thread_count = (int)r.thread_records + 1;
    r.tree = tree;
    r.hot_way = HD_WAY_SIGNALLED;
    r.hot_stop = walk->stop;
    r.hot_cut = walk->cut;
    r.crash = crash;
    r.exception = exception;
    take_over_hangs(worker, &r, crash->at_ns);
    hd_uuid_make(r.id, r.started_wall_ns);
    int rc = hd_spool_write(&p->spool, &r, p->scratch, false);
    atomic_fetch_add_explicit(&worker->run->record->hangs.reports, rc == 0, memory_order_relaxed);
    hd_life_store_crash();
}

void hd_crash_report(struct hd_worker *worker) {
    const struct hd_crash *crash = hd_crash_taken();
    struct hd_stacks *s = &worker->stacks;
    struct hd_walk walk;
    struct hd_tree tree;
    struct hd_crash_exception exception = {.type = {0}};
    if (crash == NULL) {
        return;
    }
    hd_threads_capture(&worker->threads, crash->thread, HD_THREAD_ID_NONE);
    uint32_t count = unwind(s, crash, worker->threads.stack, &walk);
    if (crash->signal == SIGABRT) {
        hd_crash_exception_read(&s->modules, s->frames, count, &exception);
    }
    hd_tree_init(&tree, &worker->turns.pool);
    /* charges 1 ns: any time but 0 serves, because this stack is the only one in the tree */
    hd_tree_charge(&tree, hd_tree_add(&tree, s->frames, count, crash->at_ns), 1);
    write_report(worker, crash, &walk, &exception, &tree);
    hd_tree_free(&tree);
    hd_crash_written();
}
