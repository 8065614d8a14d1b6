/* SPDX-License-Identifier: MIT
 *
 * CPython's record of a thread. _PyRuntime lists the interpreters, and each of these its threads. The lists
 * change under other threads' hands: the reads are bounded and can fail, and only a record with the thread's
 * own number is taken. Worker: may run while a hang is on; no allocation.
 */
#include <string.h>

#include "script/cpython.h"

#define INTERPRETERS_MAX 32u
#define THREADS_MAX 4096u

/* Where libc keeps a thread's number, from what pthread_self() returns: glibc, musl. */
#if defined(__x86_64__)
static const uint16_t libc_tid[] = {720, 48};
#else
static const uint16_t libc_tid[] = {208, 48};
#endif

/* After a fork the interpreter's own note of the number may be the parent's; libc's is not. */
static bool is_thread(const struct hd_scripts *s, const uint8_t *bytes, int tid, bool ask_libc) {
    const struct hd_cpython_layout *l = &s->py.layout;
    if (!ask_libc) {
        return l->thread_tid != 0 && hd_script_u64(bytes + l->thread_tid) == (uint64_t)tid;
    }
    uint64_t self = hd_script_u64(bytes + l->thread_self);
    for (unsigned i = 0; i < sizeof libc_tid / sizeof libc_tid[0]; i++) {
        int32_t have = 0;
        if (hd_script_read(s, self + libc_tid[i], &have, sizeof have) && have == tid) {
            return true;
        }
    }
    return false;
}

uint64_t hd_cpython_word(const struct hd_scripts *s, uint64_t address) {
    uint64_t word = 0;
    return address % 8 == 0 && hd_script_read(s, address, &word, sizeof word) ? word : 0;
}

static bool find(const struct hd_scripts *s, int tid, bool ask_libc, uint64_t *thread, uint8_t *bytes) {
    const struct hd_cpython_layout *l = &s->py.layout;
    unsigned left = THREADS_MAX;
    uint64_t interpreter = hd_cpython_word(s, s->py.runtime + l->interpreters);
    for (unsigned i = 0; i < INTERPRETERS_MAX && interpreter != 0; i++) {
        uint64_t at = hd_cpython_word(s, interpreter + l->threads);
        for (; at != 0 && left > 0; left--) {
            if (!hd_script_read(s, at, bytes, PY_THREAD_BYTES)) {
                break;
            }
            if (is_thread(s, bytes, tid, ask_libc)) {
                *thread = at;
                return true;
            }
            at = hd_script_u64(bytes + l->next_thread);
        }
        interpreter = hd_cpython_word(s, interpreter + l->next_interpreter);
    }
    return false;
}

bool hd_cpython_thread(struct hd_scripts *s, int tid, uint8_t *bytes) {
    struct hd_cpython *py = &s->py;
    if (py->tid == tid && hd_script_read(s, py->thread, bytes, PY_THREAD_BYTES) &&
        is_thread(s, bytes, tid, py->ask_libc)) {
        return true;
    }
    for (int ask_libc = 0; ask_libc < 2; ask_libc++) {
        if (find(s, tid, ask_libc != 0, &py->thread, bytes)) {
            py->tid = tid;
            py->ask_libc = ask_libc != 0;
            return true;
        }
    }
    py->tid = 0;
    return false;
}

int hd_cpython_tid(const struct hd_scripts *s, uint64_t thread) {
    const struct hd_cpython_layout *l = &s->py.layout;
    uint8_t bytes[PY_THREAD_BYTES];
    int32_t tid = 0;
    if (thread == 0 || !hd_script_read(s, thread, bytes, sizeof bytes)) {
        return 0;
    }
    if (l->thread_tid != 0) {
        uint64_t number = hd_script_u64(bytes + l->thread_tid);
        return number <= INT32_MAX ? (int)number : 0;
    }
    return hd_script_read(s, hd_script_u64(bytes + l->thread_self) + libc_tid[0], &tid, sizeof tid) ? tid : 0;
}
