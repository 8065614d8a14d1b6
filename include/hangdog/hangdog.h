/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Hangdog: a watchdog for hangs.
 *
 * It watches the event loops of this process. When a thread stops answering, Hangdog writes a report: which
 * code was in the way, for how long, and why.
 *
 * @code
 * hangdog_start(NULL);
 * hangdog_loop *loop = hangdog_loop_watch("main", 0);
 * for (;;) {
 *     hangdog_before_wait(loop);
 *     int n = epoll_wait(...);
 *     hangdog_after_wait(loop);
 *     dispatch(n);
 * }
 * @endcode
 *
 * - **Units**: times are nanoseconds.
 * - **Errors**: a function returns 0 or a negative errno value unless it says otherwise. A failure changes
 *   nothing. No function aborts, prints or exits.
 * - **Threads**: any thread may call a function unless it says otherwise.
 * - **Signals**: no function may be called from a signal handler unless it says that it is async-signal-safe.
 */
#ifndef HANGDOG_H
#define HANGDOG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HANGDOG_VERSION_MAJOR 0 /**< Grows with a change that old callers notice. */
#define HANGDOG_VERSION_MINOR 1 /**< Grows with a new function. */
#define HANGDOG_VERSION_PATCH 0 /**< Grows with a repair. */
#define HANGDOG_VERSION "0.1.0" /**< The version of this header, as text. */

/** @cond */
#if defined(__GNUC__)
#define HANGDOG_API __attribute__((visibility("default")))
#else
#define HANGDOG_API
#endif
/** @endcond */

/** The version of the library in use, as "0.1.0". Async-signal-safe. */
HANGDOG_API const char *hangdog_version(void);

/** The points of a turn, in the order of CFRunLoopActivity. */
typedef enum hangdog_activity {
    /** Running: the loop was entered, and a turn starts. */
    HANGDOG_ENTRY = 0,
    /** Running. A turn starts where the loop came round without waiting. */
    HANGDOG_BEFORE_TIMERS = 1,
    /** Running. */
    HANGDOG_BEFORE_SOURCES = 2,
    /** Idle: the turn ends. */
    HANGDOG_BEFORE_WAITING = 3,
    /** Running: a turn starts. */
    HANGDOG_AFTER_WAITING = 4,
    /** Idle: the loop was left. A loop that marks its entry marks its exit too, or a later entry counts as a
     * nested loop's. */
    HANGDOG_EXIT = 5,
} hangdog_activity;

/** The program's state for its user. Each state has a threshold of its own. */
typedef enum hangdog_state {
    /** From hangdog_start() to the loop's first idle. The library leaves it by itself. A loop of another
     * thread than the main one launches from its watch on. So does one that is watched more than 5 minutes
     * later. A loop that is watched when another was idle has no launch. */
    HANGDOG_STATE_LAUNCH = 0,
    /** A user waits for the program. */
    HANGDOG_STATE_FOREGROUND = 1,
    /** No user waits. */
    HANGDOG_STATE_BACKGROUND = 2,
    /** The program returns to the foreground. */
    HANGDOG_STATE_RESUME = 3,
    /** The program leaves the foreground. */
    HANGDOG_STATE_SUSPEND = 4,
    /** The program ends. */
    HANGDOG_STATE_QUIT = 5,
} hangdog_state;
/** The number of states. */
#define HANGDOG_STATES 6

/** Options of hangdog_start(). Set `size`; zero in any other member means its default. Strings are copied. */
typedef struct hangdog_options {
    /** sizeof(hangdog_options). */
    size_t size;
    /** Default: the program's base name. */
    const char *app_name;
    /** Default: none. */
    const char *app_version;
    /** "production", "beta" ...; default: none. */
    const char *environment;
    /** Folder of reports. Default: hangdog/APP in $XDG_STATE_HOME, else in $HOME/.local/state, else in
     * $STATE_DIRECTORY (of a systemd service). `hangdog list` reads there. A slash in APP becomes a _. Where
     * none of these is an absolute path, there are no reports. */
    const char *spool;
    /** Between samples: 1 ms to 1 s; default 50 ms. */
    uint64_t interval_ns;
    /** By hangdog_state; defaults 10, 2, 3, 3, 3, 3 s. */
    uint64_t threshold_ns[HANGDOG_STATES];
    /** Without sessions; default 100. UINT32_MAX: no limit. */
    uint32_t reports_per_day;
    /** At once, and one more every 10 minutes; default 5. UINT32_MAX: no limit. */
    uint32_t reports_per_fingerprint;
    /** Files kept, of 256 MiB in all; default 500. UINT32_MAX: any number. */
    uint32_t spool_reports;
    /** Samples a running thread; default SIGURG. Only SIGURG, SIGCHLD and SIGWINCH: the default action of
     * each is to be ignored. */
    int signal;
    /** Not 0: reports have no peers, no files that a call waited for and no texts of exceptions. Code files
     * outside of /usr, /lib and /opt have their base names only. */
    int without_paths;
    /** Not 0: a crash (SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP) has a report. A signal that has a
     * handler already keeps it. The crash then happens as it would have, core dump included, up to 3 s later.
     */
    int crash;
    /** Refreshes of the display in a second, 1 to 1000; default 60. A frame is late that takes half a refresh
     * more than one. For hangdog_frame(). */
    uint32_t display_hz;
    /** A frame that takes so long has a report of the kind `frame-drop`, with its stack. Below the threshold
     * of a hang; at 0 there are no such reports. */
    uint64_t frame_drop_ns;
    /** Not 0: the CPU monitor. A process that uses more than 80 % of a CPU for two such periods has a `cpu`
     * report of its busiest thread, and then none for 20 periods. 100 ms to 1 h; 3 s is usual. Default: off.
     */
    uint64_t cpu_period_ns;
    /** Between two pings of hangdog_watch_ping(): 1 ms to 60 s; default 500 ms. */
    uint64_t ping_period_ns;
    /** Not 0: answers systemd's watchdog (WatchdogSec=) in place of the program, from the start to the stop.
     * Each quarter of that time WATCHDOG=1 is sent, but not while a loop hangs. A seccomp filter must allow
     * connect.
     */
    int keep_alive;
} hangdog_options;

/**
 * Starts the monitor of this process: two threads, at most 1 MiB of memory. Takes less than 100 ms.
 *
 * A forked child is not watched, and marks by its parent's handles do nothing. The child may start a monitor
 * of its own and watch its loops anew.
 *
 * A signal handler of ours stays from then on, also after a stop, so the code may not be unloaded.
 * libhangdog.so never is. Link a plug-in that contains libhangdog.a with -Wl,-z,nodelete.
 *
 * A spool that cannot be written is no error: there are no reports then.
 *
 * Capabilities and new privileges that the main thread gives up later, our threads give up within two
 * seconds. If it changes its user for itself alone (setresuid by its number), or installs a seccomp filter,
 * the watch ends. Our threads stay outside of Landlock and of namespaces: start after these.
 *
 * @param options NULL: all defaults.
 * @retval 0 It runs.
 * @retval -EALREADY It ran already.
 * @retval -EBUSY Another thread starts or stops it.
 * @retval -EINVAL An option is out of its range.
 * @retval -ENAMETOOLONG A string has no room.
 * @retval -ENOMEM No memory.
 * @retval -EAGAIN No thread could be made.
 * @retval -EPERM Our threads may have no descriptor table of their own, which would keep ours apart from the
 * program's: a container's seccomp profile must allow close_range, and before Linux 5.9 unshare.
 * @retval -ENOSYS The same: the kernel lacks the call.
 */
HANGDOG_API int hangdog_start(const hangdog_options *options);

/**
 * Stops the monitor and writes the session report. Takes less than 100 ms: a worker that is stuck at a disk
 * is abandoned. Watched loops become unwatched. Their handles stay valid until the next start, and their
 * marks do nothing.
 *
 * @retval 0 It is stopped, also where it did not run.
 * @retval -EBUSY Another thread starts or stops it.
 */
HANGDOG_API int hangdog_stop(void);

/** The form of hangdog_report_now(). */
typedef enum hangdog_form {
    /** A report of kind `live`, as docs/report.schema.json describes it. `hangdog show FILE` adds names. */
    HANGDOG_FORM_JSON = 0,
    /** A line for each thread, and its functions below it: places in modules, and functions of scripts. */
    HANGDOG_FORM_TEXT = 1,
} hangdog_form;

/**
 * Writes a report of the process as it is now: each thread but Hangdog's own, its state, its stack, and the
 * thread whose lock it waits for. A loop may hang meanwhile, also while it has locks of the C library.
 *
 * Any thread may call it, also that of a loop. Calls from several threads wait for each other. It may not be
 * called from a signal handler. No thread is stopped or signalled. A thread that computes has no stack, but
 * for a loop's whose turn is sampled: that has its newest sample. It takes some 30 ms and 2 s at most, or as
 * long as the machine does not let Hangdog's thread run.
 *
 * @param buffer Where the document goes, with a NUL behind it. NULL with a size of 0: only its length is
 * told.
 * @param size Of the buffer, in bytes. 64 KiB are enough for most programs, 1 MiB for nearly all.
 * @param form JSON or text.
 * @return The length of the document in bytes, without the NUL. If it is `size` or more, the buffer has only
 * the document's beginning.
 * @retval -ESRCH No monitor runs.
 * @retval -EINVAL The buffer or the form is none.
 * @retval -EBUSY Other threads' calls are not over after 2 s.
 * @retval -ETIMEDOUT The spool's disk has not answered for 2 s.
 */
HANGDOG_API long hangdog_report_now(char *buffer, size_t size, hangdog_form form);

/** A watched loop. Every function below accepts NULL for it, and does nothing then. */
typedef struct hangdog_loop hangdog_loop;

/**
 * Watches the event loop of the calling thread, which must unwatch it before the thread ends. Waits 20 ms at
 * most, until the monitor has opened what it keeps of the thread: the program may give up rights afterwards.
 *
 * The loop counts as running from here on, and its launch as running since hangdog_start(). Watch the loop
 * before all that is slow: samples begin here. A loop inside another loop's callback marks entry and exit on
 * the same handle. Where a thread has two watches, only the first one has stacks of the running thread.
 *
 * @param name In reports; copied.
 * @param threshold_ns For the foreground state; 0: the option's.
 * @return The handle. NULL: no monitor runs, 256 loops are watched already, or there is no memory.
 */
HANGDOG_API hangdog_loop *hangdog_loop_watch(const char *name, uint64_t threshold_ns);

/** Ends the watch. Only the thread that watches may call it, once, also after a stop. */
HANGDOG_API void hangdog_loop_unwatch(hangdog_loop *loop);

/**
 * Posts `run(argument)` to a loop, which runs it on its own thread, once. Called by a thread of the
 * library's, which has the program's descriptors and blocks all signals. May lock, allocate and write; must
 * not wait for the loop.
 *
 * @return 0, or anything else where the loop takes no tasks now: that is no hang.
 */
typedef int (*hangdog_post)(void *context, void (*run)(void *argument), void *argument);

/**
 * For a loop without a hook of which only a "post to the loop" function is known: pings it instead of marks.
 * A thread of the library's posts a task each period (the option `ping_period_ns`). A ping that the loop has
 * not run within the threshold is a hang of the loop's thread, from the post on, with samples and a cause.
 * The next ping waits until the one before has run.
 *
 * Marks are better where there is a hook: a ping wakes an idle loop, misses what falls between two pings, and
 * dates a hang by up to a period too late. The loop's thread calls this once, after hangdog_loop_watch(), and
 * makes no marks. hangdog_loop_unwatch() ends the pings, and waits up to 90 ms for a post that is under way.
 *
 * @retval 0 It is pinged.
 * @retval -EALREADY It was already.
 * @retval -EINVAL No loop or no function, or no monitor runs.
 * @retval -ENOMEM No memory.
 * @retval -EAGAIN No thread could be made.
 */
HANGDOG_API int hangdog_watch_ping(hangdog_loop *loop, hangdog_post post, void *context);

/**
 * Marks the point that the loop has reached. Only on the loop's own thread. Async-signal-safe and wait-free:
 * one read of the counter and one store. Where the monitor sleeps or waits for this turn's end, a futex call
 * wakes it; a seccomp filter on the thread must allow that call.
 */
HANGDOG_API void hangdog_mark(hangdog_loop *loop, hangdog_activity activity);

/** The loop is about to wait: its turn ends. Otherwise as hangdog_mark(). */
HANGDOG_API void hangdog_before_wait(hangdog_loop *loop);

/** The loop's wait has returned: a turn starts. Otherwise as hangdog_mark(). */
HANGDOG_API void hangdog_after_wait(hangdog_loop *loop);

/** Takes the place of these two for a wait with zero timeout: a turn ends and the next starts. As
 * hangdog_mark(). */
HANGDOG_API void hangdog_turn(hangdog_loop *loop);

/**
 * A frame was presented: for a game or an animation, whose loop calls this once a frame, right after it has
 * presented the frame. A turn ends and the next starts, as with hangdog_turn(): a frame that takes longer
 * than the threshold is a hang. A loop that draws no frame for a while (a paused game) calls hangdog_turn(),
 * or marks its waits.
 *
 * The session report has the number of frames, frames per second, the histogram of their times, dropped
 * frames (refreshes of the display without a new frame) and the hitch ratio: the time by which late frames
 * were late, in ms a second. Marked waits are no frame time.
 *
 * As hangdog_mark(): on the loop's own thread, without a lock or a system call.
 */
HANGDOG_API void hangdog_frame(hangdog_loop *loop);

/**
 * Announces a block that is meant (a modal system dialog, a long load). The turn ends, and there is no hang
 * until hangdog_expect_block_end(). Nests. Only on the loop's own thread.
 */
HANGDOG_API void hangdog_expect_block(hangdog_loop *loop);

/** Ends what hangdog_expect_block() began; with the outermost one the next turn starts. On the loop's own
 * thread. */
HANGDOG_API void hangdog_expect_block_end(hangdog_loop *loop);

/** Pauses the watch of all loops. Nests. The session's sums still count turns, however long they are. */
HANGDOG_API void hangdog_pause(void);

/** Ends a pause. A hang that lasts at that time counts from there. */
HANGDOG_API void hangdog_resume(void);

/** Sets the program's state. Async-signal-safe. */
HANGDOG_API void hangdog_set_state(hangdog_state state);

/**
 * Changes a loop's threshold for the foreground state while it is watched. It holds at once, also for the
 * turn that runs: a turn that is older is a hang now. A hang that is open stays one, with the threshold that
 * it had. Async-signal-safe. Not after the thread of the loop may have ended its watch.
 *
 * @param loop The loop.
 * @param threshold_ns In nanoseconds; 0: the option's.
 * @retval 0 It is changed.
 * @retval -EINVAL `loop` is NULL.
 * @retval -ESRCH The loop is not watched, or no monitor runs.
 */
HANGDOG_API int hangdog_set_threshold(hangdog_loop *loop, uint64_t threshold_ns);

/**
 * Changes a state's threshold, of all loops but those that have one of their own for the foreground.
 * Otherwise as hangdog_set_threshold(). Any thread; async-signal-safe.
 *
 * @param state The state.
 * @param threshold_ns In nanoseconds, not 0.
 * @retval 0 It is changed, until hangdog_stop().
 * @retval -EINVAL There is no such state, or the threshold is 0.
 * @retval -ESRCH No monitor runs.
 */
HANGDOG_API int hangdog_set_state_threshold(hangdog_state state, uint64_t threshold_ns);

/**
 * Changes the time between samples, also in a hang. Any thread; async-signal-safe.
 *
 * @param interval_ns 1 ms to 1 s, in nanoseconds.
 * @retval 0 It is changed, until hangdog_stop().
 * @retval -EINVAL It is out of that range.
 * @retval -ESRCH No monitor runs.
 */
HANGDOG_API int hangdog_set_interval(uint64_t interval_ns);

/** What the watch has seen and has cost since hangdog_start(). Set `size`. Times are nanoseconds. */
typedef struct hangdog_totals {
    /** sizeof(hangdog_totals). */
    size_t size;
    /** Loops that are watched now. */
    uint64_t loops;
    /** Turns of all loops, also of those that are no longer watched. */
    uint64_t turns;
    /** Time in turns. */
    uint64_t busy_ns;
    /** Time between turns. Utilisation is busy_ns / (busy_ns + idle_ns). */
    uint64_t idle_ns;
    /** From the start to the first loop's first idle; 0: no loop was idle yet. */
    uint64_t launch_ns;
    /** Hangs that are over, with those that have no report. */
    uint64_t hangs;
    /** Their time: what the users of the program have lost. */
    uint64_t hang_ns;
    /** The longest of them. */
    uint64_t hang_max_ns;
    /** How long a hang lasts that is not over, as of the monitor's last look; 0: none is open. */
    uint64_t open_hang_ns;
    /** Stacks of watched threads that were read. */
    uint64_t samples;
    /** System calls of the program that a sample has interrupted, and that were not restarted. */
    uint64_t interrupted_syscalls;
    /** Time that samples took from watched threads. */
    uint64_t pause_total_ns;
    /** The longest of these pauses. */
    uint64_t pause_max_ns;
    /** CPU time of Hangdog's own threads. */
    uint64_t cpu_ns;
    /** By how much the monitor has looked too late at most. */
    uint64_t late_max_ns;
    /** Complete reports that are on disk, without session reports. */
    uint64_t reports_written;
    /** Hangs without a report of their own: over the day's cap or their fingerprint's, or seen too late. */
    uint64_t reports_suppressed;
    /** Files that the spool's limits have removed. */
    uint64_t reports_dropped;
    /** Complete reports that the disk did not take. */
    uint64_t reports_failed;
    /** Not 0: the watch was over its budget of 0.1 % CPU and 1 ms pause a second, and took fewer samples. */
    uint64_t degraded;
} hangdog_totals;

/**
 * Reads the totals. Any thread, at any time, also while a loop hangs. Async-signal-safe and wait-free: no
 * lock, no allocation.
 *
 * The monitor brings the totals up to date when the loops become idle, and once a second while one runs. In
 * a hang of more than 20 s that may take 2 s. A hang counts once its report is written.
 *
 * @param totals Set `size`. Members beyond it are left alone.
 * @retval 0 They are read.
 * @retval -EINVAL `totals` is NULL or its size is none.
 * @retval -ESRCH No monitor runs, or a start or stop is under way.
 */
HANGDOG_API int hangdog_stats(hangdog_totals *totals);

/** What one loop has done since its watch began. Set `size`. Times are nanoseconds. */
typedef struct hangdog_loop_totals {
    /** sizeof(hangdog_loop_totals). */
    size_t size;
    /** Turns that are over. */
    uint64_t turns;
    /** Time in turns, with the one that runs. */
    uint64_t busy_ns;
    /** Since the loop counts as running. Utilisation is busy_ns / watched_ns. */
    uint64_t watched_ns;
    /** How long the turn lasts that runs now; 0: the loop is idle. */
    uint64_t running_ns;
} hangdog_loop_totals;

/**
 * Reads a loop's totals, as of now. Any thread, at any time, as hangdog_stats(); but not after the thread of
 * the loop may have ended its watch, since another loop may have the handle by then.
 *
 * @param loop The loop.
 * @param totals Set `size`. Members beyond it are left alone.
 * @retval 0 They are read.
 * @retval -EINVAL A parameter is NULL, or the size is none.
 * @retval -ESRCH The loop is not watched, or no monitor runs.
 */
HANGDOG_API int hangdog_loop_stats(hangdog_loop *loop, hangdog_loop_totals *totals);

/** What has become of a hang. */
typedef enum hangdog_event_type {
    /** It has passed its threshold. Comes before its report is written. */
    HANGDOG_EVENT_START = 1,
    /** It lasts: when its age has doubled, or 5 s later where its stack stays the same. Its report is so new.
     */
    HANGDOG_EVENT_UPDATE = 2,
    /** It is over, and its report is complete. A hang that ended between two looks has no start. */
    HANGDOG_EVENT_END = 3,
    /** It turned out to be none: the process was stopped, for instance. */
    HANGDOG_EVENT_WITHDRAWN = 4,
} hangdog_event_type;

/** The start, the growth or the end of a hang. */
typedef struct hangdog_event {
    /** sizeof(hangdog_event). */
    size_t size;
    /** Events of a run are counted from 1. Set it to that of the event that was read last; 0: to none. */
    uint64_t number;
    /** A hangdog_event_type. */
    int type;
    /** Kernel's number of the thread that hangs. */
    int tid;
    /** Not 0: a cap withholds its report. */
    int suppressed;
    /** 0. */
    int reserved;
    /** When the turn began: CLOCK_MONOTONIC, in nanoseconds. */
    uint64_t start_ns;
    /** So far, or in the end, in nanoseconds. */
    uint64_t duration_ns;
    /** That it has passed, in nanoseconds. */
    uint64_t threshold_ns;
    /** Name of the loop. */
    char loop[32];
    /** Id of its report, as `hangdog show` takes it. */
    char report[40];
} hangdog_event;

/**
 * Reads the next event of a hang. No callback runs on Hangdog's threads, which have no descriptor of the
 * program's: a thread of the program waits here, and then calls what it likes. It may be as slow as it likes.
 *
 * @code
 * hangdog_event event = {.size = sizeof event};
 * while (hangdog_next_event(&event, UINT64_MAX) == 0)
 *     log_hang(&event);
 * @endcode
 *
 * Any number of threads may read; each sees every event. The newest 32 are kept: a number that jumps says how
 * many were missed. Hangs that were seen too late to be followed have no events; hangdog_stats() counts them.
 *
 * @param event Set `size`, and `number` as it says. Other members are filled.
 * @param timeout_ns How long to wait, in nanoseconds; 0: not at all, and async-signal-safe. UINT64_MAX: until
 * there is one, or hangdog_stop().
 * @retval 0 There is one.
 * @retval -EAGAIN There was none until then.
 * @retval -ESRCH There is none, and no monitor runs.
 * @retval -EINVAL `event` is NULL or its size is none.
 */
HANGDOG_API int hangdog_next_event(hangdog_event *event, uint64_t timeout_ns);

#ifdef __cplusplus
}
#endif
#endif
