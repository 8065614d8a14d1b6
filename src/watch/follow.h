/* SPDX-License-Identifier: MIT
 *
 * Makes the monitor and the worker give up each right that the main thread has given up. Linux keeps
 * credentials for each thread, so a right that only the main thread gives up stays with the other threads.
 * Therefore the monitor and the worker each compare their own credentials with the main thread's.
 */
#ifndef HD_FOLLOW_H
#define HD_FOLLOW_H

#include "os/credentials.h"
#include "watch/run.h"

/* Opens the credential files that the functions below read. The monitor and the worker each call it once,
 * before those functions, because each of the two has a descriptor table of its own. */
void hd_follow_open(void);

/* The number of the program's threads that are now in setuid or another libc call that changes the ids of all
 * threads. The preload counts them. */
extern _Atomic uint32_t hd_follow_id_changes;

/* Gives up the rights that the main thread has given up since the last call. On the monitor thread or the
 * worker thread. Returns 1 if the main thread's credentials have changed since the last call, else 0. Returns
 * -EPERM if this thread still has a right that the main thread lacks. Any other negative result is the error
 * of a failed read. `at_once`: true if the main thread is blocked until this call is over, and so changes no
 * ids during it. */
int hd_follow_main(bool at_once);

/* Call it after hd_follow_main has returned -EPERM, on the same thread. Returns whether the reason is that
 * the main thread has a seccomp filter that this thread lacks. */
bool hd_follow_is_filter(void);

/* Answers the newest request of hd_follow_request. `which` is the calling thread: the monitor or the worker.
 * Returns true if there was a new request. If the process has another root folder than before, the function
 * first calls `confine`, which must close each descriptor that leads out of that folder. If the root folder
 * differs and `confine` is NULL, the function returns false, and a later call answers the request. */
bool hd_follow_answer(struct hd_run *r, enum hd_run_thread which, void (*confine)(void *of), void *of);

/* Sends the monitor and the worker the request to give up rights, and returns before they answer. Returns the
 * request's number. Any thread. */
uint32_t hd_follow_request(struct hd_run *r);

/* Sends the monitor and the worker the request to give up rights, and returns once both have answered.
 * Returns false if one of the two still has more rights than the main thread, or does not answer within 150
 * ms. Call it on the main thread, after that thread has given up a right. Async-signal-safe. */
bool hd_follow_all(struct hd_run *r);

#endif
