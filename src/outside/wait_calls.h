/* SPDX-License-Identifier: MIT
 *
 * The system calls in which a loop may wait. Pure; any thread.
 */
#ifndef HD_OUTSIDE_WAIT_CALLS_H
#define HD_OUTSIDE_WAIT_CALLS_H

#include "base/types.h"

/* True: a thread in this call waits until any of several descriptors is ready, or for completions of an
 * io_uring. */
bool hd_wait_call_is(int32_t nr, const uint64_t args[6]);

/* True: the call's first argument is the descriptor of the object for which the thread waits: an epoll
 * instance or an io_uring. */
bool hd_wait_call_has_object(int32_t nr);

#endif
