/* SPDX-License-Identifier: MIT
 *
 * The state of a walk up a stack. The loop over plain rules (HD_RULE_SP, HD_RULE_FP) is in walk.c. Other
 * steps are in walk_step.c. The file walk_scan.c searches for a frame pointer that is not known,
 * arch/walk_aarch64.c for a return address. Private to
 * src/unwind. On the worker thread, also during a hang, so without allocation.
 */
#ifndef HD_UNWIND_WALK_H
#define HD_UNWIND_WALK_H

#include "unwind/arch/arch.h"
#include "unwind/unwinder.h"

#define HD_WALK_STEPS 65536u /* after so many frames the walk ends with HD_STOP_LIMIT */
#define HD_WALK_SCANS 16u    /* the most searches for a frame pointer in a walk */
#define HD_SCAN_CANDIDATES \
    512u /* the most candidates in a search; Node 18 needs many for its 12 KiB of events */
#define HD_WALK_CANDIDATES 1024u   /* the most candidates in all searches of a walk */
#define HD_SCAN_TRIAL_STEPS 65536u /* the most steps that all candidates of a walk take */

/* not an enum hd_stop */
#define HD_STEP_ON UINT8_MAX            /* the step has reached the caller's frame */
#define HD_STEP_BY_RULE (UINT8_MAX - 1) /* hd_unwinder.own_step leaves the step to the frame's rule */

struct hd_walker {
    struct hd_unwinder *u;
    struct hd_stack stack;
    struct hd_regs regs;
    uint64_t known_root;
    uint64_t root;  /* the start of the function of the last frame that was met */
    uint32_t steps; /* the number of frames met */
    uint32_t step_limit;
    uint32_t scans_left; /* more searches than these fail at once */
    uint32_t candidates_left;
    uint32_t trial_steps_left;
    uint8_t trust; /* enum hd_trust of the frame at regs.pc */
    uint8_t stop;  /* enum hd_stop */
    bool trial;    /* true: the walk tries a candidate, so it may not start a search of its own */
    bool used_scan;
    bool confirmed; /* the last search's result is behind a call of the frame's function */

    struct hd_frame *frames;
    uint32_t max;  /* at least 2 */
    uint32_t head; /* frames[0, head) has the first frames, frames[head, max) is a ring of the last ones */
    uint32_t at;   /* the index for the next frame */
};

/* True: the frame's pc is the next instruction to run. False: the pc is a return address. */
static inline bool hd_pc_is_exact(uint8_t trust) {
    return trust == HD_TRUST_CONTEXT || trust == HD_TRUST_SIGNAL;
}

/* Sets the array for frames; `max` is at least 2. Of more than `max` frames the middle ones are lost. */
void hd_walk_set_frames(struct hd_walker *w, struct hd_frame *frames, uint32_t max);

/* Walks until w->stop is known. */
void hd_walk_run(struct hd_walker *w);

/* Steps to the caller of a frame that the loop of walk.c cannot leave. `kind` is the kind of the frame's
 * rule. `start` is the start of the frame's function; 0: not known. Returns HD_STEP_ON, with the caller's
 * regs and trust in *w, or an enum hd_stop. */
uint8_t hd_step(struct hd_walker *w, enum hd_rule_kind kind, uint64_t start);

/* Steps to the caller by the frame record at address `record`. Returns HD_STEP_ON, or HD_STOP_ROOT: both
 * words are 0, or HD_STOP_NO_UNWIND_INFORMATION: there is no valid record, and *w is unchanged. */
uint8_t hd_step_record(struct hd_walker *w, uint64_t record, enum hd_trust trust);

/* True if `ra` can be a return address: it is behind a call instruction, in a module or in JIT code. Unless
 * `strict` is set, an address that an unwind table covers needs no call instruction. *target as in
 * hd_arch_after_call. */
bool hd_walk_return_is_plausible(struct hd_walker *w, uint64_t ra, bool strict, uint64_t *target);

/* Steps from the innermost frame to the caller, where the return address is in a register that is not known.
 * `leaf`: the start of the frame's function; 0: not known. Returns as hd_step. */
uint8_t hd_walk_step_hidden(struct hd_walker *w, uint64_t leaf);

/* Searches the stack for the frame pointer of the frame at w->regs. `start`: the start of the frame's
 * function, 0: not known. True: w->regs has the frame pointer now. */
bool hd_scan(struct hd_walker *w, uint64_t start);

#endif
