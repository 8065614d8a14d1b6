/* SPDX-License-Identifier: MIT
 *
 * Our threads have no right that the main thread has given up. A thread's capabilities and the like are its
 * own: each thread of ours gives up what it finds that the main thread has given up.
 */
#ifndef HD_FOLLOW_H
#define HD_FOLLOW_H

#include "os/linux/credentials.h"
#include "watch/run.h"

/* On a thread of ours, before what follows: opens what it reads, in its table. */
void hd_follow_open(void);

/* Threads of the program in a call of libc that changes the ids of all threads: the preload counts them. */
extern _Atomic uint32_t hd_follow_id_changes;

/* On it: comes down to the main thread's rights, where they have changed since the last time. 0; 1: they had;
 * -EPERM: it has a right still that the main thread has not; or what reading said. `at_once`: the main thread
 * waits, and changes no ids meanwhile. */
int hd_follow_main(bool at_once);

/* On it, after -EPERM: that is a filter. */
bool hd_follow_is_filter(void);

/* On it: answers a request, if there is a new one. True: there was. Before, where the process has another
 * root, it calls `confine`, which leaves no descriptor open that leads out of that. Without one it then
 * answers later. */
bool hd_follow_answer(struct hd_run *r, enum hd_run_thread which, void (*confine)(void *of), void *of);

/* Sends a request to both, and does not wait. Any thread. */
uint32_t hd_follow_request(struct hd_run *r);

/* On the main thread, after it has given up a right: waits for both. False: one of them has more still, or
 * does not answer within 150 ms. Async-signal-safe. */
bool hd_follow_all(struct hd_run *r);

#endif
