/* SPDX-License-Identifier: MIT
 *
 * Two ways to hook by BPF programs. `fentry`: programs at the kernel's functions of the wait calls.
 * `switches`: a program at each switch of threads, and programs at all calls of the host while a thread is
 * suspect. Both need root, or CAP_BPF and CAP_PERFMON. On the hook's thread.
 */
#ifndef HD_BPF_HOOK_H
#define HD_BPF_HOOK_H

#include "outside/hook.h"

extern const struct hd_hook_way hd_fentry_way, hd_switches_way;

#endif
