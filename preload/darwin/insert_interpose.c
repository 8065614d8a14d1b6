/* SPDX-License-Identifier: MIT
 *
 * The calls of poll, select and kevent by the program's other images come here: the loader reads the section
 * __interpose of an inserted library. A call of the real function from here stays one.
 */
#include <poll.h>
#include <sys/event.h>
#include <sys/select.h>
#include <time.h>

#include "preload/darwin/insert.h"
#include "preload/darwin/main_waits.h"

#define FILES_READ 64u /* of an array or a set; a set of files keeps the lowest 16 */

static void add_poll(struct hd_main_files *f, const struct pollfd *fds, nfds_t n) {
    for (nfds_t i = 0; fds != NULL && i < n && i < FILES_READ; i++) {
        hd_main_files_add(f, fds[i].fd);
    }
}

static void add_select(struct hd_main_files *f, int n, const fd_set *set) {
    n = n < FD_SETSIZE ? n : FD_SETSIZE;
    for (int word = 0; set != NULL && word * 32 < n; word++) {
        uint32_t bits = (uint32_t)set->fds_bits[word];
        bits &= n - word * 32 >= 32 ? UINT32_MAX : (1u << (n - word * 32)) - 1;
        for (; bits != 0; bits &= bits - 1) {
            hd_main_files_add(f, word * 32 + __builtin_ctz(bits));
        }
    }
}

static bool blocks_for(const struct timespec *t) {
    return t == NULL || t->tv_sec != 0 || t->tv_nsec != 0;
}

#define UNWRAP(...) __VA_ARGS__

/* Defines the function that replaces `real`. FILES adds the descriptors to `hd_files`. */
#define INTERPOSE(name, real, PARAMETERS, ARGUMENTS, FILES, BLOCKS)              \
    static int hd_insert_##name PARAMETERS {                                     \
        struct hd_main_waits *hd_waits = &hd_insert_waits;                       \
        const void *hd_frame = __builtin_frame_address(0);                       \
        if (!hd_main_waits_are_of(hd_waits, hd_frame)) {                         \
            return real ARGUMENTS;                                               \
        }                                                                        \
        struct hd_main_files hd_files = {.kqueue = false};                       \
        struct hd_main_wait hd_wait;                                             \
        FILES;                                                                   \
        hd_main_waits_begin(hd_waits, &hd_wait, &hd_files, BLOCKS, hd_frame);    \
        int hd_result = real ARGUMENTS;                                          \
        hd_main_waits_end(hd_waits, &hd_wait);                                   \
        return hd_result;                                                        \
    }                                                                            \
    static const struct {                                                        \
        const void *replacement, *real;                                          \
    } interposed_##name __attribute__((used, section("__DATA,__interpose"))) = { \
        (const void *)(uintptr_t)hd_insert_##name, (const void *)(uintptr_t)real};

#define POLL_PARAMETERS (struct pollfd * fds, nfds_t n, int ms)
#define SELECT_PARAMETERS (int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *t)
#define PSELECT_PARAMETERS \
    (int n, fd_set *r, fd_set *w, fd_set *e, const struct timespec *t, const sigset_t *mask)
#define SELECT_FILES (add_select(&hd_files, n, r), add_select(&hd_files, n, w), add_select(&hd_files, n, e))

#define POLL(name, real) \
    INTERPOSE(name, real, POLL_PARAMETERS, (fds, n, ms), add_poll(&hd_files, fds, n), ms != 0)
#define SELECT(name, real)                                                  \
    INTERPOSE(name, real, SELECT_PARAMETERS, (n, r, w, e, t), SELECT_FILES, \
              t == NULL || t->tv_sec != 0 || t->tv_usec != 0)
#define PSELECT(name, real) \
    INTERPOSE(name, real, PSELECT_PARAMETERS, (n, r, w, e, t, mask), SELECT_FILES, blocks_for(t))
/* A call that only changes the queue is no wait. */
#define KEVENT(name, real, PARAMETERS, ARGUMENTS) \
    INTERPOSE(name, real, PARAMETERS, ARGUMENTS,  \
              events_max > 0 ? hd_main_files_kqueue(&hd_files, queue) : (void)0, blocks_for(t))

/* The system's headers choose the symbol of select: it differs between the CPUs. */
extern int select_without_limit SELECT_PARAMETERS __asm("_select$DARWIN_EXTSN");
extern int pselect_without_limit PSELECT_PARAMETERS __asm("_pselect$DARWIN_EXTSN");

POLL(poll, poll)
SELECT(select, select)
SELECT(select_without_limit, select_without_limit)
PSELECT(pselect, pselect)
PSELECT(pselect_without_limit, pselect_without_limit)
KEVENT(kevent, kevent,
       (int queue, const struct kevent *changes, int changes_count, struct kevent *events, int events_max,
        const struct timespec *t),
       (queue, changes, changes_count, events, events_max, t))
KEVENT(kevent64, kevent64,
       (int queue, const struct kevent64_s *changes, int changes_count, struct kevent64_s *events,
        int events_max, unsigned flags, const struct timespec *t),
       (queue, changes, changes_count, events, events_max, flags, t))
