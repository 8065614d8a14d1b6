/* SPDX-License-Identifier: MIT
 *
 * The kinds of waits of one thread, and the times of each kind as looks show them. Pure.
 */
#ifndef HD_POLL_KINDS_H
#define HD_POLL_KINDS_H

#include "os/linux/proc_text.h"
#include "outside/hook.h"

#define HD_POLL_NO_KIND (-1)

struct hd_poll_kind {
    int32_t nr;
    bool used;
    uint8_t verdict;         /* enum hd_wait_verdict */
    uint64_t pc, sp, object; /* `object`: a descriptor */
    struct hd_wait_times times;
};

struct hd_poll_kinds {
    struct hd_poll_kind kind[HD_HOOK_KINDS];
    int32_t now;           /* the kind of the wait at the newest look, or HD_POLL_NO_KIND */
    uint64_t now_since_ns; /* the first look that saw this wait */
    uint64_t orders;
};

/* Finds the kind of the wait that the thread is blocked in. Replaces the oldest kind if the wait is of a new
 * kind, and sets *is_new. HD_POLL_NO_KIND: a loop does not wait in this call. */
int32_t hd_poll_kinds_find(struct hd_poll_kinds *k, const struct hd_proc_syscall *call, bool *is_new);

/* Stores what a look has seen: a wait of kind `kind`, or HD_POLL_NO_KIND. `ended`: how many waits the thread
 * has surely ended since the look before. `cpu_ns`: its CPU time between. */
void hd_poll_kinds_look(struct hd_poll_kinds *k, int32_t kind, uint64_t ended, uint64_t cpu_ns,
                        uint64_t now_ns);

#endif
