/* SPDX-License-Identifier: MIT
 *
 * These functions let threads sleep and wake each other by a futex, which is a 32-bit variable. Any thread;
 * async-signal-safe.
 */
#ifndef HD_FUTEX_H
#define HD_FUTEX_H

#include <stdatomic.h>

#include "base/types.h"

/* Blocks the calling thread while *word equals `value`, at most until `until_ns` on CLOCK_MONOTONIC. */
void hd_futex_wait_while(_Atomic uint32_t *word, uint32_t value, uint64_t until_ns);

/* Wakes all threads that sleep until *word changes. */
void hd_futex_wake_all(_Atomic uint32_t *word);

/* Adds one to *word, and wakes one thread that sleeps until *word changes. */
void hd_futex_add_and_wake(_Atomic uint32_t *word);

#endif
