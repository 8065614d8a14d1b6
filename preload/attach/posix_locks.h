/* SPDX-License-Identifier: MIT
 *
 * Whether opening and closing a file could cost the program a lock.
 */
#ifndef HD_POSIX_LOCKS_H
#define HD_POSIX_LOCKS_H

#include "base/types.h"

/* True also where it cannot be said. Async-signal-safe. */
bool hd_own_locks_may_have(uint64_t inode);

#endif
