/* SPDX-License-Identifier: MIT */
#include "outside/linux/ways.h"

#include <stddef.h>

#include "outside/linux/bpf_hook.h"

const struct hd_hook_way *const hd_hook_ways[] = {
#ifdef HD_HAS_BPF
    &hd_fentry_way,  &hd_switches_way,
#endif
    &hd_counter_way, &hd_records_way,  &hd_looks_way, NULL,
};
