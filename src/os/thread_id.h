/* SPDX-License-Identifier: MIT
 *
 * The identity of a thread, as a type: code that knows no system compares it and passes it on. It is unique
 * among the threads that live. On Linux its number is the thread's tid; Darwin has 64 bits.
 * Async-signal-safe.
 */
#ifndef HD_THREAD_ID_H
#define HD_THREAD_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "os/os.h"

typedef struct hd_thread_id {
    uint64_t number; /* 0: no thread. Reports have it as "tid" */
} hd_thread_id;

#define HD_THREAD_ID_NONE ((hd_thread_id){0})

static inline hd_thread_id hd_thread_id_of(int tid) {
    return (hd_thread_id){(uint64_t)tid};
}

static inline hd_thread_id hd_thread_id_self(void) {
    return hd_thread_id_of(hd_os.get_tid());
}

static inline bool hd_thread_id_is_none(hd_thread_id id) {
    return id.number == 0;
}

static inline bool hd_thread_id_equal(hd_thread_id a, hd_thread_id b) {
    return a.number == b.number;
}

/* The number that paths of /proc and system calls take. */
static inline int hd_thread_id_tid(hd_thread_id id) {
    return (int)id.number;
}

#endif
