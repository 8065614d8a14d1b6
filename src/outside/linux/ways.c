/* SPDX-License-Identifier: MIT */
#include "outside/linux/ways.h"

#include <stddef.h>

#include "outside/linux/bpf_hook.h"

/* hd_looks_way always opens, so fentry is only used by its name. The reason: on Debian's kernel 6.1 under an
 * emulator, both CPUs once stayed in the kernel during a campaign of attaches by fentry. */
const struct hd_hook_way *const hd_hook_ways[] = {
#ifdef HD_HAS_BPF
    &hd_switches_way,
#endif
    &hd_counter_way,
    &hd_records_way,
    &hd_looks_way,
#ifdef HD_HAS_BPF
    &hd_fentry_way,
#endif
    NULL,
};
