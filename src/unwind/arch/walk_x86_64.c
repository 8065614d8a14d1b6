/* SPDX-License-Identifier: MIT */
/* Packages compile the files of all CPUs. */
#ifdef __x86_64__

#include "unwind/walk.h"

/* Never called: each return address is on the stack. */
uint8_t hd_walk_step_hidden(struct hd_walker *w, uint64_t leaf) {
    (void)w;
    (void)leaf;
    return HD_STOP_NO_UNWIND_INFORMATION;
}

#endif
