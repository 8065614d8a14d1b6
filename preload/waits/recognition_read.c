/* SPDX-License-Identifier: MIT */
#include "preload/waits/epoll_generation.h"
#include "preload/waits/recognition_private.h"
#include "recognise/open_files.h"
#include "recognise/wait_stack.h"

/* A thread that has waited so often in one accept is a server. */
#define ACCEPTS 2

static void read_stack(struct hd_recognition *g, const struct hd_stack_tools *tools,
                       const struct hd_stack_copy *copy, struct hd_wait_seen *seen) {
    struct hd_walk walk;
    hd_unwind(tools->unwinder, &copy->regs, copy->stack, copy->regs.sp, copy->bytes, 0, tools->frames,
              tools->frames_max, &walk);
    const struct hd_wait_stack stack = {.frames = tools->frames,
                                        .walk = &walk,
                                        .copied_from = copy->regs.sp,
                                        .caller_sp = copy->caller_sp,
                                        .coroutine = copy->coroutine};
    hd_wait_stack_read(&stack, tools->modules, &g->known_functions, &g->judge.option, seen);
}

static void read_kinds(const struct hd_stack_tools *tools, hd_thread_id thread,
                       const struct hd_wait_entry *entry, const struct hd_wait_descriptors *d,
                       struct hd_wait_seen *seen) {
    if (hd_wait_seen_needs_kinds(seen)) {
        hd_open_files_kinds(tools->proc_fd, thread, d, &seen->kinds);
        seen->kinds.once =
            d->accepts && atomic_load_explicit(&entry->sums.waits, memory_order_relaxed) < ACCEPTS;
    }
}

void hd_recognition_resolve(struct hd_wait_table *t, const struct hd_stack_tools *tools, uint64_t now_ns) {
    if (!hd_stack_copies_has_fresh(&t->copies)) {
        return;
    }
    const struct hd_stack_copy *copy = hd_stack_copies_take(&t->copies);
    struct hd_wait_entry *entry = &t->entry[copy->entry % HD_WAIT_ENTRIES];
    struct hd_known_wait *known = &t->recognition->entry[copy->entry % HD_WAIT_ENTRIES];
    struct hd_known_wait found = {.uses = copy->uses, .known = true, .descriptors = copy->descriptors};
    hd_thread_id thread = hd_loop_thread(t->loop);
    hd_open_files_set(tools->proc_fd, thread, &copy->descriptors, &found.seen.set);
    read_stack(t->recognition, tools, copy, &found.seen);
    read_kinds(tools, thread, entry, &copy->descriptors, &found.seen);
    if (hd_recognition_is_current(&found, entry) && copy->uses % 2 == 0) {
        *known = found;
        atomic_store_explicit(&entry->resolved, 1, memory_order_seq_cst);
        /* If the thread has given the entry a new key meanwhile, the worker has read the stack of a wait with
         * the old key. So the worker clears `resolved`, and the thread copies its stack again at a wait with
         * the new key. */
        if (!hd_recognition_is_current(known, entry)) {
            atomic_store_explicit(&entry->resolved, 0, memory_order_seq_cst);
        }
        hd_judge_seen(&t->recognition->judge, &known->seen, copy->blocks, now_ns);
    }
}

/* True if one of the descriptors `d` is still open, and its file is one that all waits of the loop have in
 * common. If `d` is an epoll instance, true if it is still the instance for which the thread waited. The wait
 * of a library's own function (HD_WAIT_LIBRARY) counts as open. */
static bool is_open(const struct hd_rule_state *r, const struct hd_stack_tools *tools, hd_thread_id thread,
                    const struct hd_wait_descriptors *d) {
    if (d->epoll) {
        return hd_wait_is_library(d->fd[0]) || (hd_epoll_generation(d->fd[0]) == d->epoll_generation &&
                                                hd_open_files_is_epoll(tools->proc_fd, thread, d->fd[0]));
    }
    for (uint32_t i = 0; i < d->fds && i < HD_WAIT_FDS; i++) {
        bool open = true;
        struct hd_set one = {.count = 1};
        one.file[0] = hd_open_files_identity(tools->proc_fd, thread, d->fd[i], &open) & ~HD_FILE_EPOLL;
        if (open && hd_rule_shares(r, r->loop, &one)) {
            return true;
        }
    }
    return false;
}

void hd_recognition_note_closed(struct hd_wait_table *t, const struct hd_stack_tools *tools) {
    struct hd_recognition *g = t->recognition;
    struct hd_rule_state *r = &g->judge.rule;
    bool any = false;
    for (uint32_t i = 0; i < HD_WAIT_ENTRIES && r->loop != HD_RULE_NONE; i++) {
        const struct hd_known_wait *known = &g->entry[i];
        bool loops = known->seen.set.count > 0 && hd_recognition_is_current(known, &t->entry[i]) &&
                     atomic_load_explicit(&t->entry[i].verdict, memory_order_relaxed) == HD_WAIT_IDLE;
        if (loops && is_open(r, tools, hd_loop_thread(t->loop), &known->descriptors)) {
            return;
        }
        any |= loops;
    }
    if (any) {
        hd_rule_closed(r);
    }
}

void hd_recognition_read_again(struct hd_wait_table *t, const struct hd_stack_tools *tools) {
    hd_thread_id thread = hd_loop_thread(t->loop);
    for (uint32_t i = 0; i < HD_WAIT_ENTRIES; i++) {
        struct hd_known_wait *known = &t->recognition->entry[i];
        struct hd_set now;
        if (known->known && !known->descriptors.epoll &&
            atomic_load_explicit(&t->entry[i].sums.waits, memory_order_relaxed) != known->counted_waits &&
            hd_open_files_set(tools->proc_fd, thread, &known->descriptors, &now)) {
            known->seen.set = now;
            /* If a blocking call makes the waits of this entry, the worker does not read the kinds of
             * descriptors again. The call may have closed its files by now, and the numbers may mean files of
             * other kinds. */
            if (hd_wait_seen_evidence(&known->seen) != HD_WAIT_EVIDENCE_CALL) {
                read_kinds(tools, thread, &t->entry[i], &known->descriptors, &known->seen);
            }
        }
    }
}
