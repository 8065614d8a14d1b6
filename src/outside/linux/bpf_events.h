/* SPDX-License-Identifier: MIT
 *
 * Makes events of what the BPF programs report. On the hook's thread.
 */
#ifndef HD_BPF_EVENTS_H
#define HD_BPF_EVENTS_H

#include <stddef.h>
#include <stdint.h>

struct hd_hook;

/* Takes one record of the ring; `arg` is the hook. Returns 0. */
int hd_bpf_events_take(void *arg, void *data, size_t bytes);
/* Sends the first sights of waits that were on when their threads' watch began. */
void hd_bpf_events_seeds(struct hd_hook *h);
/* Finds the threads whose end the ring had no space for. */
void hd_bpf_events_lost(struct hd_hook *h);
/* A thread has ended: its slot is free after this function. */
void hd_bpf_events_ended(struct hd_hook *h, uint32_t slot);

#endif
