/* SPDX-License-Identifier: MIT
 *
 * Waits and wakes on a 32-bit word. Any thread; async-signal-safe.
 */
#ifndef HD_FUTEX_H
#define HD_FUTEX_H

#include <stdatomic.h>

#include "base/types.h"

/* Waits as long as the word has this value, at most until `until_ns`. */
void hd_futex_wait_while(_Atomic uint32_t *word, uint32_t value, uint64_t until_ns);

/* Wakes all threads that wait on the word. */
void hd_futex_wake_all(_Atomic uint32_t *word);

/* Adds one to the word, and wakes one thread. */
void hd_futex_add_and_wake(_Atomic uint32_t *word);

#endif
