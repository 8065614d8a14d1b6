/* SPDX-License-Identifier: MIT
 *
 * For the tests of the library's public behaviour: a spool folder of a test's own, a hand-written loop on a
 * thread of its own, and blocks of a known kind and length.
 */
#ifndef TEST_LIBRARY_H
#define TEST_LIBRARY_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hangdog/hangdog.h"

#define MS 1000000ULL
#define SECOND (1000 * MS)

/* What the tests start with: a threshold of 200 ms, a look every 10 ms. */
#define THRESHOLD_MS 200
#define INTERVAL_MS 10

/* The build with a sanitizer and an emulated CPU are slow, so their bounds are wider. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#else
#define SANITIZED false
#endif
#if defined(HANGDOG_EMULATED)
#define SLOW true
#else
#define SLOW SANITIZED
#endif
#define QUICK_NS ((SLOW ? 1000 : 100) * MS) /* a start or a stop takes less */

uint64_t now_ns(void);
void nap_ms(uint64_t ms);
void spin_ms(uint64_t ms);

/* Waits for condition(arg), for at most a minute (three under a sanitizer). False: in vain. */
bool wait_for(bool (*condition)(void *), void *arg);

/* How many there are in a folder; 0 where it cannot be read. */
unsigned entries_of(const char *folder);

/* Fails the test unless there are so many threads, or fewer. One that was joined may be listed for a moment
 * longer. */
void assert_threads(unsigned count);

/* ---- the spool ------------------------------------------------------------------------------------ */

struct spool {
    char path[64];
    int fd; /* of the folder, for looks that may not allocate */
};

void spool_make(struct spool *s);
void spool_open(struct spool *s, const char *path); /* one that another process made */
void spool_remove(struct spool *s);

/* Reports that are shown, without allocation: also while malloc is locked. */
size_t spool_count(const struct spool *s);

/* The reports of this kind (NULL: any but the session's), oldest first; complete ones only when asked. A new
 * array. */
json_t *spool_reports(const struct spool *s, const char *kind, bool complete);

/* The same, once there are `count` complete ones of them. Fails the test when they do not come, or more; but
 * a machine that has too much to do makes hangs of its own, `starved` ones: they go first. */
json_t *spool_wait(const struct spool *s, const char *kind, size_t count);

/* Fails the test unless there are so many, complete or not, but the session's; the machine's own aside. */
void spool_expect(const struct spool *s, size_t count);

/* Once a first report, which need not be complete, is there. No allocation. */
void spool_wait_for_one(const struct spool *s);

uint64_t report_ns(const json_t *report, const char *key);
const char *report_text(const json_t *report, const char *key);
const char *report_cause(const json_t *report);
/* What a report tells, and what the program measured itself. In a sanitizer's build it is only that it is no
 * nonsense. */
void assert_near(uint64_t reported_ns, uint64_t truth_ns);
/* The same where the truth lies between two figures: what goes on between two calls of ours is not known. */
struct between {
    uint64_t least_ns, most_ns;
};
void assert_between(uint64_t reported_ns, struct between truth);
/* RFC 3339 with nanoseconds, as CLOCK_REALTIME in ns. */
uint64_t report_started_ns(const json_t *report);
/* True when the address sanitizer's frames, whose base is a register that a blocked thread does not tell,
 * made a guess of a part of the hot stack. */
bool report_guesses(const json_t *report);
/* True when the hot stack has a frame in the function that begins at `function`; where it is a guess, in any
 * case. */
bool report_blames(const json_t *report, void (*function)(uint64_t));

/* ---- start ---------------------------------------------------------------------------------------- */

/* A disk that is never slow, for this process: a stop leaves behind a worker that waits for one. */
void library_quick_disk(void);
/* The tests' options for this spool. */
hangdog_options library_options(const struct spool *s);
/* hangdog_start with them. */
void library_start(const struct spool *s);

/* ---- a loop --------------------------------------------------------------------------------------- */

/* An epoll loop on a thread of its own. What is posted to it runs in its turns, each in one. */
struct looper {
    pthread_t thread;
    hangdog_loop *loop;
    const char *name;
    uint64_t threshold_ns;
    int event_fd, epoll_fd;
    void (*call)(uint64_t);
    uint64_t argument, delay_ns;
    uint64_t took_ns; /* the last call, by its own clock */
    uint64_t began_wall_ns;
    unsigned posted, done;
    bool leave;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* Starts the thread, watches its loop and returns once it waits. */
void looper_start(struct looper *l, const char *name, uint64_t threshold_ns);
/* Runs call(argument) in a turn of its own; looper_wait waits until it has. */
void looper_post(struct looper *l, void (*call)(uint64_t), uint64_t argument);
void looper_wait(struct looper *l);
/* Both. How long the call took, in ns. */
uint64_t looper_call(struct looper *l, void (*call)(uint64_t), uint64_t argument);
/* Unwatches and ends it. */
void looper_stop(struct looper *l);

/* ---- a test's set-up ------------------------------------------------------------------------------ */

extern struct spool spool;   /* the test's own */
extern struct looper looper; /* its loop, if it starts it */

int begin_spool(void **state);
int begin_library(void **state); /* and the library is started with it */
int end_library(void **state);   /* the library is stopped, the spool removed */

/* ---- processes ------------------------------------------------------------------------------------- */

/* This program again, in another role: `program ROLE SPOOL`. The two talk by numbers over a socket. */
struct role {
    pid_t pid;
    int fd;
};

void role_start(struct role *r, const char *role, const struct spool *s);
/* In that process: it does not end before its session report is written. A stop, or an exit, leaves behind a
 * worker that gets no processor. */
void role_ends_with_session(const struct spool *s);
void role_say(int fd, uint64_t value);
uint64_t role_hear(int fd);
/* The status that it ended with; a signal's number less than zero. */
int role_wait(struct role *r);
/* Stops it for so long; how long it was stopped. */
struct between role_stop_for(const struct role *r, uint64_t ms);
/* The same for a role that stops itself, since `since_ns` or later: waits for it first. */
struct between role_stopped_for(const struct role *r, uint64_t ms, uint64_t since_ns);
#define ROLE_FD 3 /* in that process */

/* Tests that wait nearly all of their time, and need no processor: each in a process of its own, a few at a
 * time. How many failed. */
struct CMUnitTest;
int run_side_by_side(const struct CMUnitTest *tests, size_t count);

/* Blocks of `ms` each, never inlined: a report names them. */
void block_sleep(uint64_t ms);
void block_sleep_other(uint64_t ms);
void block_spin(uint64_t ms);

#endif
