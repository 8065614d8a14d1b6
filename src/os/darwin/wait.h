/* SPDX-License-Identifier: MIT
 *
 * Waits for a word of memory, as Linux's futex does, over Mach semaphores: the system's own calls for this
 * are private, or too new. The table has a slot for each thread that waits. A waker does a bounded number of
 * steps, takes no lock and never waits, so a watched thread cannot get stuck here. Any thread; both functions
 * are async-signal-safe; no allocation.
 */
#ifndef HD_OS_DARWIN_WAIT_H
#define HD_OS_DARWIN_WAIT_H

#include "base/types.h"

/* The threads that can sleep at the same time. Further ones poll each millisecond. */
#define HD_WAIT_SLOTS 64u

/* The members futex_wait and futex_wake of struct hd_os_calls; os.h has their contracts. A `shared` word is
 * polled, since a semaphore is of one process. */
int hd_wait_until_woken(uint32_t *word, uint32_t expected, uint64_t until_ns, bool shared);
int hd_wait_wake(uint32_t *word, int count, bool shared);

/* Makes the table empty in a forked child, which has no other thread. The semaphores are the parent's. */
void hd_wait_forget(void);

#endif
