/* SPDX-License-Identifier: MIT
 *
 * Worker: what an identity's waits are: their stack, which the thread left, and what stands behind their
 * descriptor numbers. No allocation.
 */
#include "base/hash.h"
#include "preload/waits/epoll_generation.h"
#include "preload/waits/recognition_private.h"
#include "recognise/loop_option.h"
#include "recognise/open_files.h"

/* Of the interposed call, the innermost ones. */
static uint32_t own_frames(const struct hd_stack_tools *tools, const struct hd_stack_copy *left,
                           uint32_t count) {
    uint32_t own = 0;
    while (own + 1 < count && left->regs.sp + tools->frames[own].at <= left->sp) {
        own++;
    }
    return own;
}

/* The wait's place, and what its stack says. Returns whether the user says that it is the loop's. */
static bool read_stack(struct hd_recognition *g, const struct hd_stack_tools *tools,
                       const struct hd_stack_copy *left, struct hd_known_wait *found) {
    struct hd_seen_wait *seen = &found->seen;
    struct hd_walk walk;
    hd_unwind(tools->unwinder, &left->regs, left->stack, left->regs.sp, left->bytes, 0, tools->frames,
              tools->frames_max, &walk);
    uint64_t hash = hd_hash(4, &left->regs.sp, sizeof left->regs.sp);
    for (uint32_t i = 1; i < walk.count; i++) {
        hash = hd_hash(hash, &tools->frames[i].pc, sizeof tools->frames[i].pc);
    }
    bool whole = walk.stop == HD_STOP_ROOT;
    seen->at.place = walk.count > 1 ? hash : 0;
    seen->at.depth = whole ? walk.count + walk.cut - own_frames(tools, left, walk.count) : 0;
    if (left->elsewhere) {
        seen->at.base = whole ? left->regs.sp + tools->frames[walk.count - 1].at : HD_BASE_UNKNOWN;
    }
    seen->evidence =
        (int8_t)hd_known_function(&g->known_functions, tools->modules, tools->frames, walk.count);
    bool encloses = hd_known_loop_encloses(&g->known_functions, tools->modules, tools->frames, walk.count);
    bool known = encloses || (whole && walk.cut == 0 && !left->elsewhere);
    seen->enclosed = !known ? HD_ENCLOSED_UNKNOWN : encloses ? HD_ENCLOSED : HD_NOT_ENCLOSED;
    uint32_t caller = hd_loop_option_caller(tools->modules, tools->frames, walk.count);
    if (caller > 0 && caller < walk.count) {
        found->call_pc = hd_frame_lookup_pc(&tools->frames[caller - 1]);
        found->caller_pc = hd_frame_lookup_pc(&tools->frames[caller]);
    }
    return hd_loop_option_is_set(&g->option) &&
           hd_loop_option_matches(&g->option, tools->modules, tools->frames, walk.count);
}

static void judge_kinds(const struct hd_stack_tools *tools, int tid,
                        const struct hd_wait_descriptors *objects, struct hd_seen_wait *seen) {
    if (seen->evidence != HD_EVIDENCE_ASKS && seen->evidence != HD_EVIDENCE_BY_NAME) {
        struct hd_kinds kinds;
        hd_files_read_kinds(tools->proc_fd, tid, objects, &kinds);
        seen->evidence = (int8_t)hd_kinds_evidence(&kinds);
    }
}

void hd_recognition_resolve(struct hd_wait_table *t, const struct hd_stack_tools *tools, uint64_t now_ns) {
    if ((atomic_load_explicit(&t->left.between, memory_order_relaxed) & HD_STACK_COPY_FRESH) == 0) {
        return;
    }
    t->left.reading = atomic_exchange_explicit(&t->left.between, t->left.reading, memory_order_acq_rel) & 3;
    struct hd_stack_copy *left = &t->left.stack[t->left.reading];
    struct hd_wait_entry *id = &t->entry[left->entry % HD_WAIT_ENTRIES];
    struct hd_known_wait *known = &t->recognition->entry[left->entry % HD_WAIT_ENTRIES];
    struct hd_known_wait found = {
        .uses = left->uses, .known = true, .objects = left->objects, .seen.at.sp = left->sp};
    struct hd_seen_wait *seen = &found.seen;
    int tid = hd_thread_id_tid(hd_loop_thread(t->loop));
    hd_open_files_set(tools->proc_fd, tid, &left->objects, &seen->set);
    found.by_option = read_stack(t->recognition, tools, left, &found);
    judge_kinds(tools, tid, &left->objects, seen);
    if (left->uses == atomic_load_explicit(&id->uses, memory_order_seq_cst) && left->uses % 2 == 0) {
        *known = found;
        atomic_store_explicit(&id->resolved, 1, memory_order_seq_cst);
        if (atomic_load_explicit(&id->uses, memory_order_seq_cst) != left->uses) {
            atomic_store_explicit(&id->resolved, 0,
                                  memory_order_seq_cst); /* given away meanwhile: of another */
        }
        struct hd_rule_state *r = &t->recognition->rule;
        if (!hd_loop_option_is_set(&t->recognition->option)) {
            hd_rule_seen(r, hd_rule_group_of(r, seen), seen, left->blocks, now_ns);
        }
    }
}

/* Whether anything of these that all waits of the loop are for is open. */
static bool is_open(const struct hd_rule_state *r, const struct hd_stack_tools *tools, int tid,
                    const struct hd_wait_descriptors *objects) {
    if (objects->epoll) {
        return hd_wait_is_library(objects->fd[0]) ||
               (hd_epoll_generation(objects->fd[0]) == objects->epoll_generation &&
                hd_open_files_epoll_open(tools->proc_fd, tid, objects->fd[0]));
    }
    for (uint32_t i = 0; i < objects->fds && i < HD_WAIT_FDS; i++) {
        bool open = true;
        struct hd_set one = {.count = 1};
        one.object[0] = hd_open_file_of(tools->proc_fd, tid, objects->fd[i], &open) & ~HD_OBJECT_EPOLL;
        if (open && hd_rule_shares(r, r->loop, &one)) {
            return true;
        }
    }
    return false;
}

void hd_recognition_note_closed(struct hd_wait_table *t, const struct hd_stack_tools *tools) {
    struct hd_recognition *g = t->recognition;
    bool any = false;
    for (uint32_t i = 0; i < HD_WAIT_ENTRIES && g->rule.loop != HD_RULE_NONE; i++) {
        const struct hd_known_wait *known = &g->entry[i];
        bool loops = known->known && known->seen.set.count > 0 &&
                     atomic_load_explicit(&t->entry[i].uses, memory_order_relaxed) == known->uses &&
                     atomic_load_explicit(&t->entry[i].verdict, memory_order_relaxed) == HD_WAIT_IDLE;
        if (loops && is_open(&g->rule, tools, hd_thread_id_tid(hd_loop_thread(t->loop)), &known->objects)) {
            return;
        }
        any |= loops;
    }
    if (any) {
        hd_rule_gone(&g->rule);
    }
}

void hd_recognition_read_again(struct hd_wait_table *t, const struct hd_stack_tools *tools) {
    int tid = hd_thread_id_tid(hd_loop_thread(t->loop));
    for (uint32_t i = 0; i < HD_WAIT_ENTRIES; i++) {
        struct hd_known_wait *known = &t->recognition->entry[i];
        struct hd_set now;
        if (known->known && !known->objects.epoll &&
            atomic_load_explicit(&t->entry[i].waits, memory_order_relaxed) != known->waits &&
            hd_open_files_set(tools->proc_fd, tid, &known->objects, &now)) {
            bool call = known->seen.evidence == HD_EVIDENCE_CALL; /* and is none after its descriptors went */
            known->seen.set = now;
            judge_kinds(tools, tid, &known->objects, &known->seen);
            known->seen.evidence = call ? HD_EVIDENCE_CALL : known->seen.evidence;
        }
    }
}
