/* SPDX-License-Identifier: MIT
 *
 * Loads the BPF programs into the kernel, and attaches and detaches them. On the hook's thread.
 */
#ifndef HD_BPF_PROGRAMS_H
#define HD_BPF_PROGRAMS_H

#include "base/types.h"

struct bpf_link;

struct hd_programs {
    struct waits *object;      /* the programs and their maps: waits.skel.h */
    struct bpf_link *switches; /* NULL: not attached, as the two below */
    struct bpf_link *any_enter, *any_leave;
    uint32_t slots;
};

/* `all_calls`: attaches programs to the kernel's functions of all wait calls, else to the switches of
 * threads. Returns 0; -EPERM, -EACCES: the rights are missing; -ENOTSUP: the kernel cannot do it. After an
 * error nothing is left to close. */
int hd_programs_open(struct hd_programs *p, bool all_calls, uint64_t long_ns);
void hd_programs_close(struct hd_programs *p);

/* Attaches or detaches the programs that see the switches of all threads. */
int hd_programs_see_switches(struct hd_programs *p, bool on);
/* The same for the programs that see all calls of the host. */
int hd_programs_see_calls(struct hd_programs *p, bool on);

/* enum hd_call_class of a system call. */
uint8_t hd_programs_call_class(int32_t nr);

#endif
