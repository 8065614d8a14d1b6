/* SPDX-License-Identifier: MIT
 *
 * One walk in progress, shared by the loop (walk.c), the steps that are not plain rules (step.c) and the
 * search for a lost frame pointer (scan.c). Private to src/unwind. Worker: may run while a hang is on, no
 * allocation.
 */
#ifndef HD_UNWIND_WALK_H
#define HD_UNWIND_WALK_H

#include "unwind/arch/arch.h"
#include "unwind/unwinder.h"

#define HD_WALK_STEPS 65536u /* more frames than this end with HD_STOP_LIMIT */
#define HD_WALK_SCANS 16u    /* lost frame pointers per walk */
#define HD_SCAN_CANDIDATES \
    512u /* chains tried per lost frame pointer: node 18 waits below 12 KiB of events */
#define HD_WALK_CANDIDATES 1024u   /* chains tried in a walk */
#define HD_SCAN_TRIAL_STEPS 65536u /* steps of all tried chains of a walk together */

#define HD_STEP_ON UINT8_MAX /* no stop: the walk goes on */

struct hd_walker {
    struct hd_unwinder *u;
    struct hd_stack stack;
    struct hd_regs regs;
    uint64_t known_root;
    uint64_t root;  /* start of the last frame that was met */
    uint32_t steps; /* frames met */
    uint32_t step_limit;
    uint32_t scans_left;
    uint32_t candidates_left;
    uint32_t trial_steps_left;
    uint8_t trust; /* enum hd_trust of the frame at regs.pc */
    uint8_t stop;  /* enum hd_stop */
    bool trial;    /* a chain that is only tried: no scan */
    bool used_scan;

    struct hd_frame *frames;
    uint32_t max;  /* at least 2 */
    uint32_t head; /* frames [0, head) are kept as they come, the rest is a ring of the last */
    uint32_t at;   /* where the next one goes */
};

static inline bool hd_pc_is_exact(uint8_t trust) {
    return trust == HD_TRUST_CONTEXT || trust == HD_TRUST_SIGNAL;
}

/* Where frames go: max is at least 2; of more the first and last halves are kept. */
void hd_walk_set_frames(struct hd_walker *w, struct hd_frame *frames, uint32_t max);

/* Walks until w->stop is known. */
void hd_walk_run(struct hd_walker *w);

/* One step from a frame that the loop cannot do itself: `kind` is enum hd_rule_kind, `start` its function.
 * HD_STEP_ON, with regs and trust those of the caller; else enum hd_stop. */
uint8_t hd_step(struct hd_walker *w, enum hd_rule_kind kind, uint64_t start);

/* True when `ra` can be a return address: a place after a call, in a module or in code made at run time.
 * `strict`: its instructions are looked at even where unwind tables vouch for the place. *target as in
 * hd_arch_after_call. */
bool hd_walk_return_is_plausible(struct hd_walker *w, uint64_t ra, bool strict, uint64_t *target);

/* Recovers the frame pointer of the frame at w->regs, whose function begins at `start` (0: not known). True:
 * regs have it. */
bool hd_scan(struct hd_walker *w, uint64_t start);

#endif
