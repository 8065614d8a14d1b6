/* SPDX-License-Identifier: MIT
 *
 * Hangdog: a watchdog for hangs. It watches the event loops of this process and, when a thread that should be
 * answering stops answering, writes a report that says which code was in the way, for how long and why.
 *
 *     hangdog_start(NULL);
 *     hangdog_loop *loop = hangdog_loop_watch("main", 0);
 *     for (;;) {
 *         hangdog_before_wait(loop);
 *         int n = epoll_wait(...);
 *         hangdog_after_wait(loop);
 *         dispatch(n);
 *     }
 *
 * Functions return 0 or a negative errno value unless they say otherwise; they never abort, print or exit,
 * and a failure changes nothing. Times are nanoseconds. Unless a line says so, a function may be called from
 * any thread and not from a signal handler.
 */
#ifndef HANGDOG_H
#define HANGDOG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HANGDOG_VERSION_MAJOR 0
#define HANGDOG_VERSION_MINOR 1
#define HANGDOG_VERSION_PATCH 0
#define HANGDOG_VERSION "0.1.0"

#if defined(__GNUC__)
#define HANGDOG_API __attribute__((visibility("default")))
#else
#define HANGDOG_API
#endif

/* The version of the library in use, as "0.1.0". */
HANGDOG_API const char *hangdog_version(void);

/* The points of a turn, in the order of CFRunLoopActivity. */
typedef enum hangdog_activity {
    HANGDOG_ENTRY = 0,          /* running: the loop was entered; a turn starts */
    HANGDOG_BEFORE_TIMERS = 1,  /* running; a turn starts when the loop came round without waiting */
    HANGDOG_BEFORE_SOURCES = 2, /* running */
    HANGDOG_BEFORE_WAITING = 3, /* idle: the turn ends */
    HANGDOG_AFTER_WAITING = 4,  /* running: a turn starts */
    HANGDOG_EXIT = 5,           /* idle: the loop was left. Who told its entry, or that it works, tells this
                                   too: else a later entry is a nested loop's */
} hangdog_activity;

/* What the program is doing for its user; each has a threshold of its own. */
typedef enum hangdog_state {
    HANGDOG_STATE_LAUNCH = 0, /* from hangdog_start to the loop's first idle; left by itself. From its watch,
                                 for a loop that is not the main thread's, or is watched more than 5 minutes
                                 later. A loop that is watched when another was idle has none */
    HANGDOG_STATE_FOREGROUND = 1,
    HANGDOG_STATE_BACKGROUND = 2,
    HANGDOG_STATE_RESUME = 3,
    HANGDOG_STATE_SUSPEND = 4,
    HANGDOG_STATE_QUIT = 5,
} hangdog_state;
#define HANGDOG_STATES 6

/* Set `size`, leave at zero what should be as usual. Strings are copied. */
typedef struct hangdog_options {
    size_t size;                           /* sizeof(hangdog_options) */
    const char *app_name;                  /* default: the program's base name */
    const char *app_version;               /* default: none */
    const char *environment;               /* "production", "beta" ...; default: none */
    const char *spool;                     /* folder of reports; default: hangdog/APP in $XDG_STATE_HOME, else
                                              in $HOME/.local/state, else in $STATE_DIRECTORY (of a systemd
                                              service), where `hangdog list` looks; a slash in APP is a _ there.
                                              Where none is set to a path from the root: no reports */
    uint64_t interval_ns;                  /* between samples; default 50 ms; 1 ms to 1 s */
    uint64_t threshold_ns[HANGDOG_STATES]; /* by hangdog_state; defaults 10, 2, 3, 3, 3, 3 s */
    uint32_t reports_per_day;              /* default 100, sessions apart; UINT32_MAX: no limit */
    uint32_t reports_per_fingerprint; /* burst, one more every 10 minutes; default 5; UINT32_MAX: no limit */
    uint32_t spool_reports; /* most files kept, of 256 MiB in all; default 500; UINT32_MAX: any number */
    int signal;             /* that samples a running thread; default SIGURG; only a signal whose
                               default action is to be ignored: SIGURG, SIGCHLD, SIGWINCH */
    int without_paths;      /* not 0: no peers and no files that a call waited for are in reports; code files
                               outside of /usr, /lib and /opt have their base names only */
} hangdog_options;

/* Starts the monitor of this process: two threads, at most 1 MiB of memory. NULL: all defaults.
 * -EALREADY: it runs already. -EBUSY: another thread starts or stops it. -EINVAL, -ENAMETOOLONG (a string
 * that has no room), -ENOMEM, -EAGAIN: not started. -EPERM, -ENOSYS: not started, for our threads may have no
 * descriptor table of their own (close_range, and before Linux 5.9 unshare, must be allowed in a container's
 * seccomp profile), and theirs would be among the program's numbers. A spool that cannot be written is no
 * error here: there are no reports then, and nobody is told. Less than 100 ms.
 *
 * A forked child is not watched, and marks by the handles that it has of its parent's do nothing. It may
 * start a monitor of its own and watch its loops anew.
 *
 * A signal handler of ours stays from then on, also after a stop: the code may not be unloaded. libhangdog.so
 * never is; a plug-in that is linked with libhangdog.a must be linked with -Wl,-z,nodelete. */
HANGDOG_API int hangdog_start(const hangdog_options *options);

/* Stops it and writes the session report. A worker stuck on a disk is abandoned: less than 100 ms. Watched
 * loops become unwatched; their handles stay valid for marks, which then do nothing, until the next start. 0
 * also when it was not running. -EBUSY: another thread starts or stops it. */
HANGDOG_API int hangdog_stop(void);

typedef struct hangdog_loop hangdog_loop;

/* Watches the event loop of the calling thread, which must unwatch it before it ends. A loop that runs inside
 * another one's callback is told by entry and exit on the same handle (hangdog_mark); where a thread has two
 * watches, only the first has stacks of the thread while it runs. `name` is copied.
 * `threshold_ns`: for the foreground state, 0 for the option's. The loop counts as running from here on,
 * and in the launch from hangdog_start on (HANGDOG_STATE_LAUNCH): watched before all that is slow, that has
 * samples. It waits until the monitor has opened what it keeps of the thread, 20 ms at most: rights may be
 * given up afterwards. NULL when no monitor runs, 256 loops are watched already, or there is no memory. A
 * NULL loop may be given to every function below. */
HANGDOG_API hangdog_loop *hangdog_loop_watch(const char *name, uint64_t threshold_ns);
/* By the thread that watches it, once, also after a stop. */
HANGDOG_API void hangdog_loop_unwatch(hangdog_loop *loop);

/* Tells the point that the loop has reached. Only on the loop's own thread. Wait-free: one read of the clock,
 * one store; and a call of futex where the monitor sleeps or waits for this turn's end, to wake it, which a
 * seccomp filter on the thread must allow. Async-signal-safe. */
HANGDOG_API void hangdog_mark(hangdog_loop *loop, hangdog_activity activity);

/* The two calls that a hand-written loop needs, around its wait. As hangdog_mark. */
HANGDOG_API void hangdog_before_wait(hangdog_loop *loop);
HANGDOG_API void hangdog_after_wait(hangdog_loop *loop);

/* Instead of those two, for a wait with zero timeout: one turn ends and the next starts. As hangdog_mark. */
HANGDOG_API void hangdog_turn(hangdog_loop *loop);

/* A block that is meant (a modal system dialog, a long load): the turn ends, and nothing is a hang until the
 * end, where the next turn starts. Nests. The loop's own thread. */
HANGDOG_API void hangdog_expect_block(hangdog_loop *loop);
HANGDOG_API void hangdog_expect_block_end(hangdog_loop *loop);

/* Stops watching all loops for a while. Nests. A hang that lasts at resume counts from there. Turns go on to
 * be counted in the session's sums, however long they are. */
HANGDOG_API void hangdog_pause(void);
HANGDOG_API void hangdog_resume(void);

/* Tells what the program does for its user. Async-signal-safe. */
HANGDOG_API void hangdog_set_state(hangdog_state state);

#ifdef __cplusplus
}
#endif
#endif
