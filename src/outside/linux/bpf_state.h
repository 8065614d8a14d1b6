/* SPDX-License-Identifier: MIT
 *
 * The memory of a hook by BPF programs. On the hook's thread.
 */
#ifndef HD_BPF_STATE_H
#define HD_BPF_STATE_H

#include "outside/hook.h"
#include "outside/linux/bpf_programs.h"
#include "outside/linux/bpf_slots.h"

_Static_assert(HD_SLOT_KINDS == HD_HOOK_KINDS, "the header of the BPF programs cannot include hook.h");
_Static_assert(HD_REGISTERS == HD_REGS_MAX, "the same");

struct hd_hook {
    struct hd_hook_events events;
    bool all_calls;
    uint32_t suspects;  /* how many slots are suspect */
    uint32_t seeds;     /* how many have no call seen, of those whose first kind the hook made */
    uint32_t new_seeds; /* how many of these have sent no sight */
    struct hd_programs programs;
    struct hd_slots slots;
    struct ring_buffer *ring;
};

/* Frees a thread's slot. */
void hd_bpf_state_remove(struct hd_hook *h, uint32_t slot);
void hd_bpf_state_unwatch(struct hd_hook *h, pid_t tid);

#endif
