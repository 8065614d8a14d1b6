/* SPDX-License-Identifier: MIT */
#include "watch/futex.h"

#include <errno.h>
#include <limits.h>

#include "os/os.h"

void hd_futex_wait_while(_Atomic uint32_t *word, uint32_t value, uint64_t until_ns) {
    while (atomic_load(word) == value &&
           hd_os.futex_wait((uint32_t *)word, value, until_ns, false) != -ETIMEDOUT) {
    }
}

void hd_futex_wake_all(_Atomic uint32_t *word) {
    hd_os.futex_wake((uint32_t *)word, INT_MAX, false);
}

void hd_futex_add_and_wake(_Atomic uint32_t *word) {
    atomic_fetch_add_explicit(word, 1, memory_order_seq_cst);
    hd_os.futex_wake((uint32_t *)word, 1, false);
}
