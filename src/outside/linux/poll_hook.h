/* SPDX-License-Identifier: MIT
 *
 * The hook of the ways that look: its threads, and the functions of the table (hook.h) that they share.
 * Ordinary code, on one thread.
 */
#ifndef HD_POLL_HOOK_H
#define HD_POLL_HOOK_H

#include "outside/linux/poll_thread.h"

int hd_poll_hook_open(struct hd_hook **hook, const struct hd_hook_events *events, uint64_t long_ns);
/* The same, with breakpoints for threads that run for long. -ENOTSUP: this machine has none. */
int hd_poll_hook_open_counter(struct hd_hook **hook, const struct hd_hook_events *events, uint64_t long_ns);
void hd_poll_hook_close(struct hd_hook *h);
/* The same, with records of the switches of each thread whose loop is known. */
int hd_poll_hook_open_records(struct hd_hook **hook, const struct hd_hook_events *events, uint64_t long_ns);
int hd_poll_hook_watch(struct hd_hook *h, pid_t pid, pid_t tid);
void hd_poll_hook_unwatch(struct hd_hook *h, pid_t tid);
void hd_poll_hook_judge(struct hd_hook *h, pid_t tid, uint32_t kind, enum hd_wait_verdict verdict);
void hd_poll_hook_read(struct hd_hook *h, pid_t tid, struct hd_hook_thread *out);
void hd_poll_hook_long_turns(struct hd_hook *h, uint64_t before_ns, void (*found)(void *arg, pid_t tid),
                             void *arg);
uint32_t hd_poll_hook_free_places(const struct hd_hook *h);
void hd_poll_hook_times(struct hd_hook *h, pid_t tid, uint32_t kind, struct hd_wait_times *out);
void hd_poll_hook_suspect(struct hd_hook *h, pid_t tid, bool on);
void hd_poll_hook_step(struct hd_hook *h, uint64_t now_ns);
int hd_poll_hook_descriptor(struct hd_hook *h);

#endif
