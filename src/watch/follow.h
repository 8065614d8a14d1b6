/* SPDX-License-Identifier: MIT
 *
 * Our threads have no right that the main thread has given up. Each thread has credentials of its own, so
 * each of ours compares its own with the main thread's, and gives up the same.
 */
#ifndef HD_FOLLOW_H
#define HD_FOLLOW_H

#include "os/linux/credentials.h"
#include "watch/run.h"

/* On a thread of ours, before the functions below: opens the files that they read, in its descriptor table.
 */
void hd_follow_open(void);

/* How many threads of the program are in a call of libc that changes the ids of all threads. The preload
 * counts them. */
extern _Atomic uint32_t hd_follow_id_changes;

/* On a thread of ours: gives up the rights that the main thread has given up since the last time. 0: none. 1:
 * some. -EPERM: this thread still has a right that the main thread has not. Else the errno value of a read.
 * `at_once`: the main thread waits, and changes no ids meanwhile. */
int hd_follow_main(bool at_once);

/* On it, after -EPERM: the main thread has a seccomp filter, and this one not. */
bool hd_follow_is_filter(void);

/* On it: answers a request, if there is a new one. True: there was. Where the process has another root it
 * first calls `confine`, which closes each descriptor that leads out of the root. Where `confine` is NULL the
 * answer has to wait for a later call. */
bool hd_follow_answer(struct hd_run *r, enum hd_run_thread which, void (*confine)(void *of), void *of);

/* Sends a request to both our threads, and does not wait. Any thread. */
uint32_t hd_follow_request(struct hd_run *r);

/* On the main thread, after it has given up a right: sends a request and waits for both. False: one of them
 * still has more rights, or does not answer within 150 ms. Async-signal-safe. */
bool hd_follow_all(struct hd_run *r);

#endif
