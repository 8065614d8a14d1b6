/* SPDX-License-Identifier: MIT
 *
 * For tests of the library on a disk that does not answer: what has to be true of each such disk. Included
 * after cmocka.h.
 */
#ifndef TEST_STALLED_DISK_H
#define TEST_STALLED_DISK_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "library.h"
#include "os/os.h"
#include "watch/message.h"

#define T THRESHOLD_MS

/* With the thread sanitizer all of a stack is more than the room, and one sample of each is had. */
#define SAMPLES_MIN (SANITIZED ? 1 : 2)

/* A worker that is left at its disk is never joined. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void) {
    return "report_thread_leaks=0";
}

/* Each of its samples is large: they fill all the room that they are given. */
static inline void spin_deep(uint64_t ms) {
    volatile char filler[12 * 1024];
    filler[0] = 0;
    block_spin(ms);
    filler[1] = filler[0];
}

static inline json_int_t samples_of(const json_t *report) {
    return json_integer_value(json_object_get(json_object_get(report, "samples"), "taken"));
}

static inline json_int_t captures_of(const json_t *report) {
    return json_integer_value(json_object_get(json_object_get(report, "monitor"), "samples"));
}

/* What both disks have to show: the disk stalls before the first report and answers after three hangs. */
static inline void hangs_on_a_stalled_disk(void (*stall)(bool), bool (*is_stalling)(void *),
                                           const struct spool *behind) {
    looper_start(&looper, "main", 0);
    looper_call(&looper, block_sleep, 1);
    stall(true);
    uint64_t took[3];
    took[0] = looper_call(&looper, block_sleep, 2 * T);
    assert_true(wait_for(is_stalling, NULL));
    took[1] = looper_call(&looper, spin_deep, 3 * T);
    took[2] = looper_call(&looper, block_spin, 2 * T);
    assert_int_equal(spool_count(behind), 0); /* not by the folder itself: who looks there waits too */
    stall(false);
    json_t *hangs = spool_wait(&spool, "hang", 3);
    void (*const blocks[])(uint64_t) = {block_sleep, spin_deep, block_spin};
    for (unsigned i = 0; i < 3; i++) {
        assert_near(report_ns(json_array_get(hangs, i), "duration_ns"), took[i]);
        json_int_t reported = samples_of(json_array_get(hangs, i)),
                   taken = captures_of(json_array_get(hangs, i));
        if (!report_blames(json_array_get(hangs, i), blocks[i]) || reported < SAMPLES_MIN ||
            taken > reported + 1) {
            json_dumpf(json_array_get(hangs, i), stderr, JSON_INDENT(1));
            fail_msg("the report of hang %u blames another function, or has too few samples, or more were "
                     "taken than there was room for",
                     i);
        }
    }
    json_decref(hangs);
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
}

/* How long it took, in ns. The disk is left stalled. */
static inline uint64_t stop_on_a_stalled_disk(void (*stall)(bool), bool (*is_stalling)(void *)) {
    looper_start(&looper, "main", 0);
    stall(true);
    looper_call(&looper, block_sleep, 2 * T);
    assert_true(wait_for(is_stalling, NULL));
    looper_stop(&looper);
    uint64_t before = now_ns();
    int rc = hangdog_stop();
    uint64_t took = now_ns() - before;
    assert_int_equal(rc, 0);
    return took;
}

/* What it waits for the worker is most of what it may take: one that got no processor then has two more
 * tries, and one that waits for longer fails in all of them. */
static inline void stop_is_quick_on_a_stalled_disk(void (*stall)(bool), bool (*is_stalling)(void *)) {
    uint64_t took = stop_on_a_stalled_disk(stall, is_stalling);
    for (unsigned i = 0; i < 2 && took >= QUICK_NS; i++) {
        stall(false);
        json_decref(spool_wait(&spool, "session", i + 1)); /* the worker that was left is done */
        library_start(&spool);
        took = stop_on_a_stalled_disk(stall, is_stalling);
    }
    if (took >= QUICK_NS) {
        stall(false);
        fail_msg("stop took %.1f ms", (double)took / MS);
    }
}

#endif
