/* SPDX-License-Identifier: MIT
 *
 * The identity of a thread, unique among living threads. On Linux it is the thread's tid; ids of Darwin need
 * 64 bits. Code outside of linux/ folders only compares the ids and passes them on. Async-signal-safe.
 */
#ifndef HD_THREAD_ID_H
#define HD_THREAD_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "os/os.h"

typedef struct hd_thread_id {
    uint64_t number; /* 0: no thread; reports have the number as "tid" */
} hd_thread_id;

#define HD_THREAD_ID_NONE ((hd_thread_id){0})

static inline hd_thread_id hd_thread_id_of(uint64_t number) {
    return (hd_thread_id){number};
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

/* Returns the id in the form that paths of /proc and system calls need. */
static inline int hd_thread_id_tid(hd_thread_id id) {
    return (int)id.number;
}

#endif
