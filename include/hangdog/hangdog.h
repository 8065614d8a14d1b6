/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Hangdog: a watchdog for hangs.
 *
 * Hangdog watches the event loops of this process. A loop that works too long between two waits does not
 * answer its user: that is a hang. Hangdog then writes a report that says which code ran, for how long, and
 * why.
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
 * - **Units**: times are nanoseconds, sizes are bytes.
 *
 * - **Errors**: a function returns 0 or a negative errno value unless it says otherwise. A failure changes
 *   nothing. No function aborts, prints or exits.
 *
 * - **Threads**: any thread may call a function unless its page says otherwise.
 *
 * - **Signals**: a signal handler may only call a function whose page says "async-signal-safe".
 */
#ifndef HANGDOG_H
#define HANGDOG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HANGDOG_VERSION_MAJOR 0 /**< Grows with each incompatible change. */
#define HANGDOG_VERSION_MINOR 1 /**< Grows with a new function. */
#define HANGDOG_VERSION_PATCH 0 /**< Grows with each repair. */
#define HANGDOG_VERSION "0.1.0" /**< The version of this header, as text. */

/** @cond */
#if defined(HANGDOG_API)
/* hangdog/hangdog_stub.h defines the functions itself. */
#elif defined(__GNUC__)
#define HANGDOG_API __attribute__((visibility("default")))
#else
#define HANGDOG_API
#endif
/** @endcond */

/** Returns the version of the library that runs, such as "0.1.0". Async-signal-safe. */
HANGDOG_API const char *hangdog_version(void);

/** The points of a turn, which is the work of a loop between two waits. In the order of CFRunLoopActivity. */
typedef enum hangdog_activity {
    /** The loop was entered: a turn starts. */
    HANGDOG_ENTRY = 0,
    /** The loop looks at its timers. If it has not waited since its last turn, a turn starts. */
    HANGDOG_BEFORE_TIMERS = 1,
    /** The loop looks at its event sources. The turn continues. */
    HANGDOG_BEFORE_SOURCES = 2,
    /** The loop is about to wait: the turn ends, and the loop is idle. */
    HANGDOG_BEFORE_WAITING = 3,
    /** The loop's wait has returned: a turn starts. */
    HANGDOG_AFTER_WAITING = 4,
    /** The loop was left: the turn ends, and the loop is idle. After a nested loop, a turn of the outer loop
     * starts. If you mark the entry, mark the exit too: without it, the next entry counts as that of a nested
     * loop. */
    HANGDOG_EXIT = 5,
} hangdog_activity;

/** The program's state, as its user sees it. Each state has a separate threshold, above which a turn is a
 * hang. */
typedef enum hangdog_state {
    /** The program starts. The library sets and leaves this state for each loop. A launch lasts from
     * hangdog_start() until the loop is idle for the first time. It lasts from hangdog_loop_watch() instead
     * if the thread is not the main thread, or if the call comes more than 5 minutes after the start. A loop
     * has no launch if another loop was idle before the watch. */
    HANGDOG_STATE_LAUNCH = 0,
    /** The user works with the program and waits for its answers. */
    HANGDOG_STATE_FOREGROUND = 1,
    /** No user waits for the program. */
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

/** Options of hangdog_start(). Set `size`. A member that is 0 or NULL has its default. hangdog_start() copies
 * the strings. */
typedef struct hangdog_options {
    /** sizeof(hangdog_options). */
    size_t size;
    /** The program's name in reports. Default: the base name of the executable file. */
    const char *app_name;
    /** The program's version in reports. Default: none. */
    const char *app_version;
    /** Where the program runs, such as "production" or "beta", in reports. Default: none. */
    const char *environment;
    /** The folder for reports. Default: hangdog/APP in $XDG_STATE_HOME, else in $HOME/.local/state, else in
     * $STATE_DIRECTORY (of a systemd service), where `hangdog list` looks too. On Apple's systems
     * $HOME/Library/Caches takes the place of $HOME/.local/state. APP is `app_name` with _ for each slash. If
     * none of these variables has an absolute path, Hangdog writes no reports. */
    const char *spool;
    /** The time between two samples of a thread, in nanoseconds: 1 ms to 1 s; default 50 ms. */
    uint64_t interval_ns;
    /** The threshold of each hangdog_state, in nanoseconds. A longer turn is a hang. Defaults: 10, 2, 3, 3, 3
     * and 3 seconds. */
    uint64_t threshold_ns[HANGDOG_STATES];
    /** The most reports of a day, session reports not counted; default 100. UINT32_MAX: no limit. */
    uint32_t reports_per_day;
    /** The most reports of hangs with the same cause in the same functions; default 5. Each 10 minutes allow
     * one more. UINT32_MAX: no limit. */
    uint32_t reports_per_fingerprint;
    /** The most files that the folder keeps; default 500. UINT32_MAX: no limit. All files together have at
     * most 256 MiB. */
    uint32_t spool_reports;
    /** The signal by which Hangdog samples a running thread: SIGURG (default), SIGCHLD or SIGWINCH. The
     * kernel ignores these by default, so that a late signal does no harm. */
    int signal;
    /** Not 0: reports omit peers, files that a call waited for, and texts of exceptions. They have only the
     * base names of code files outside of /usr, /lib and /opt. */
    int without_paths;
    /** Not 0: Hangdog reports crashes by SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV and SIGTRAP. It leaves a
     * signal that has a handler already; on Apple's systems that handler runs after the report. The report
     * delays the crash by at most 3 s and changes nothing else: there is still a core dump.
     *
     * 2: on Apple's systems, also by Mach exceptions, unless a debugger or another library receives them. */
    int crash;
    /** For hangdog_frame(): the display's refreshes per second, 1 to 1000; default 60. A frame is late if it
     * takes more than 1.5 refreshes. */
    uint32_t display_hz;
    /** For hangdog_frame(): a frame that takes so many nanoseconds has a report of the kind `frame-drop`,
     * with its stack. Set it below the threshold of a hang. Default 0: no such reports. */
    uint64_t frame_drop_ns;
    /** The period of the CPU monitor, in nanoseconds: 100 ms to 1 h; 3 s is usual. Default 0: no CPU monitor.
     * If the process uses more than 80 % of a CPU for a period, and its busiest thread for the next, Hangdog
     * writes a `cpu` report. It has the stack of the busiest thread. For the next 20 periods there is no
     * other one. */
    uint64_t cpu_period_ns;
    /** The time between two pings of hangdog_watch_ping(), in nanoseconds: 1 ms to 60 s; default 500 ms. */
    uint64_t ping_period_ns;
    /** Not 0: Hangdog answers systemd's watchdog (WatchdogSec=) for the program, from the start to the stop.
     * It sends WATCHDOG=1 four times in that time, except while a loop hangs. A seccomp filter must allow
     * connect. */
    int keep_alive;
} hangdog_options;

/**
 * Starts Hangdog in this process: two threads, the monitor and the worker. They have at most 1,088 KiB of
 * memory (arm64: 1,280 KiB, of which no more is used). Takes less than 100 ms.
 *
 * A forked child is not watched. In the child, marks by its parent's handles do nothing. The child may call
 * hangdog_start() and watch its loops anew.
 *
 * Hangdog's signal handler stays installed, even after a stop. So the program must never unload Hangdog's
 * code. The linker flags of libhangdog.so prevent that. Link a plug-in that contains libhangdog.a with
 * -Wl,-z,nodelete.
 *
 * If Hangdog cannot write to the folder for reports (`spool`), the call succeeds, and there are no reports.
 *
 * If the main thread gives up capabilities later, or sets no_new_privs, Hangdog's threads do the same within
 * 2 s. The watch ends if the main thread installs a seccomp filter. It ends too if the main thread changes
 * its user by a direct system call, which does not change the user of other threads. Call hangdog_start()
 * after the program enters Landlock or a namespace, because Hangdog's threads do not follow there.
 *
 * @param options NULL: all defaults.
 * @retval 0 Hangdog runs.
 * @retval -EALREADY Hangdog ran already.
 * @retval -EBUSY Another thread starts or stops Hangdog.
 * @retval -EINVAL An option is out of range.
 * @retval -ENAMETOOLONG A string is too long.
 * @retval -ENOMEM There is not enough memory.
 * @retval -EAGAIN The system cannot create a thread.
 * @retval -EPERM Hangdog's threads may not get a private descriptor table, which keeps their descriptors out
 * of the program's table. A container's seccomp profile must allow close_range; before Linux 5.9, unshare.
 * @retval -ENOSYS The kernel lacks the system call for a private descriptor table.
 */
HANGDOG_API int hangdog_start(const hangdog_options *options);

/**
 * Stops Hangdog and writes the session report. Takes less than 100 ms, even if a disk blocks Hangdog's
 * worker: the worker is abandoned then. The watch of all loops ends. Their handles stay valid until the next
 * start, and marks by them do nothing.
 *
 * @retval 0 Hangdog does not run any more, or did not run.
 * @retval -EBUSY Another thread starts or stops Hangdog.
 */
HANGDOG_API int hangdog_stop(void);

/** The form of hangdog_report_now(). */
typedef enum hangdog_form {
    /** JSON: a report of the kind `live`, by docs/report.schema.json. `hangdog show FILE` adds function
     * names. */
    HANGDOG_FORM_JSON = 0,
    /** Text: a line for each thread, and below it the thread's functions, as offsets in modules or as names
     * of script functions. */
    HANGDOG_FORM_TEXT = 1,
} hangdog_form;

/**
 * Writes a report of the process as it is now. The report has each thread except for Hangdog's: its state,
 * its stack, and the thread whose lock it waits for. Works while a loop hangs, even while the loop has locks
 * of the C library.
 *
 * Any thread may call this function, also the thread of a loop, but no signal handler may. Calls of several
 * threads run one after the other. The call stops and signals no thread. So the report has no stack of a
 * thread that runs on a CPU. If that thread's loop is in a long turn, the report has the newest sample. The
 * call takes about 30 ms. It takes at most 2 s, and longer only if Hangdog's thread gets no CPU time.
 *
 * @param buffer Gets the document and a NUL. May be NULL if `size` is 0, for a call that needs the length
 * only.
 * @param size The size of the buffer in bytes. 64 KiB are enough for most programs, 1 MiB for nearly all.
 * @param form JSON or text.
 * @return The length of the document in bytes, without the NUL. If the length is `size` or more, the buffer
 * has only the start of the document.
 * @retval -ESRCH Hangdog does not run.
 * @retval -EINVAL `buffer` is NULL and `size` is not 0, or `form` is not a hangdog_form.
 * @retval -EBUSY Calls of other threads are not over after 2 s.
 * @retval -ETIMEDOUT Hangdog's worker has not answered for 2 s, since a disk blocks it.
 */
HANGDOG_API long hangdog_report_now(char *buffer, size_t size, hangdog_form form);

/** The handle of a watched loop. Each function below accepts NULL instead of a handle: then it does nothing,
 * or returns -EINVAL. */
typedef struct hangdog_loop hangdog_loop;

/**
 * Watches the event loop of the calling thread. The thread must call hangdog_loop_unwatch() before it ends.
 * Waits up to 20 ms until the monitor has opened its files of the thread. So the program may give up
 * privileges after this call.
 *
 * A turn of the loop starts with this call; a launch counts from hangdog_start(). Call this function before
 * the program's slow work, because Hangdog samples the thread from here on. If a callback runs a nested loop,
 * mark entry and exit of the nested loop on the same handle. If a thread has two watches, only the first one
 * has stacks of the running thread.
 *
 * @param name The loop's name in reports; the function copies the name.
 * @param threshold_ns The loop's threshold in the foreground state, in nanoseconds; 0: that of
 * hangdog_options.
 * @return The handle. NULL: Hangdog does not run, 256 loops are watched already, or there is not enough
 * memory.
 */
HANGDOG_API hangdog_loop *hangdog_loop_watch(const char *name, uint64_t threshold_ns);

/** Ends the watch of a loop. Only the thread that called hangdog_loop_watch() may call this function, once,
 * even after hangdog_stop(). */
HANGDOG_API void hangdog_loop_unwatch(hangdog_loop *loop);

/**
 * A function of the program that posts a task to a loop: the loop must call `run(argument)` once, on the
 * loop's thread. Hangdog calls this function on a separate thread, which shares the program's descriptors and
 * blocks all signals. The function may lock, allocate and write. It must not wait for the loop.
 *
 * @return 0: the task is posted. Another value: the loop takes no tasks now, which does not count as a hang.
 */
typedef int (*hangdog_post)(void *context, void (*run)(void *argument), void *argument);

/**
 * Pings a loop, for a loop that cannot mark its waits but can run a posted task. A separate thread of Hangdog
 * posts a task each period (the option `ping_period_ns`). If the loop has not run the task within the
 * threshold, that is a hang of the loop's thread, with samples and a cause. It counts from the post. The next
 * ping comes after the last one has run.
 *
 * Use marks where you can. A ping wakes an idle loop, misses a hang between two pings, and dates a hang up to
 * a period too late. The loop's thread calls this function once, after hangdog_loop_watch(), and must not
 * mark the loop. The function hangdog_loop_unwatch() ends the pings, and waits up to 90 ms for a `post` that
 * is still running.
 *
 * @param loop The loop.
 * @param post The function that posts a task to the loop.
 * @param context The first argument of each call of `post`.
 * @retval 0 The pings start.
 * @retval -EALREADY The loop was pinged already.
 * @retval -EINVAL `loop` or `post` is NULL, or Hangdog does not run.
 * @retval -ENOMEM There is not enough memory.
 * @retval -EAGAIN The system cannot create a thread.
 */
HANGDOG_API int hangdog_watch_ping(hangdog_loop *loop, hangdog_post post, void *context);

/**
 * Marks the point that the loop has reached. Only the loop's thread may call this function. Async-signal-safe
 * and wait-free: one read of the CPU's time counter and one store. If the monitor sleeps, or waits for the
 * end of this turn, the mark wakes the monitor by a futex call. A seccomp filter on the thread must allow
 * that call.
 */
HANGDOG_API void hangdog_mark(hangdog_loop *loop, hangdog_activity activity);

/** Marks that the loop is about to wait: its turn ends. Threads and signals as for hangdog_mark(). */
HANGDOG_API void hangdog_before_wait(hangdog_loop *loop);

/** Marks that the loop's wait has returned: a turn starts. Threads and signals as for hangdog_mark(). */
HANGDOG_API void hangdog_after_wait(hangdog_loop *loop);

/** Marks the end of a turn and the start of the next one. Replaces hangdog_before_wait() and
 * hangdog_after_wait() for a wait with a zero timeout. Threads and signals as for hangdog_mark(). */
HANGDOG_API void hangdog_turn(hangdog_loop *loop);

/**
 * Marks that the loop has presented a frame. The loop of a game or an animation calls this function once per
 * frame, right after it has presented the frame. A turn ends and the next one starts, as with hangdog_turn().
 * So a frame that takes longer than the threshold is a hang. While the loop draws no frames (a paused game),
 * it calls hangdog_turn() or marks its waits.
 *
 * The session report has the number of frames, frames per second, and a histogram of frame times. It also has
 * the number of dropped frames: the display's refreshes without a new frame. The hitch ratio is the time by
 * which late frames were late, in ms per second. Marked waits do not count as frame time.
 *
 * Threads and signals as for hangdog_mark().
 */
HANGDOG_API void hangdog_frame(hangdog_loop *loop);

/**
 * Labels what the loop works on now, such as "GET /cart". The report of a hang has the label that was set for
 * most of the hang. So a reader sees which request froze the loop, and the collector counts hangs by label.
 *
 * A label is valid until the next one, and at most until the turn ends: it never blames a request for a later
 * turn. Set it where a callback starts to work for a request, and clear it (`text` NULL) where the callback
 * returns. Use few different texts: "GET /cart" rather than a text with the cart's number. Reports leave the
 * process, so a label should have no personal data.
 *
 * Only the loop's thread may call this function. Async-signal-safe and wait-free: it copies the texts into
 * the loop's memory, which takes 13 to 31 ns by the length of the texts. It takes no lock, and allocates
 * nothing.
 *
 * @param loop The loop.
 * @param text The label, UTF-8; the function copies at most 127 bytes. In the report each control character
 * is a question mark. NULL or "": clears the label.
 * @param traceparent The W3C trace context of the request, as in the HTTP header of that name. The report
 * leaves out a text that does not have that form. NULL: none.
 */
HANGDOG_API void hangdog_label(hangdog_loop *loop, const char *text, const char *traceparent);

/**
 * Announces that the program blocks the loop on purpose, for a modal dialog of the system or a long load. The
 * turn ends, and no hang counts until hangdog_expect_block_end(). Calls nest. Only the loop's thread may call
 * this function.
 */
HANGDOG_API void hangdog_expect_block(hangdog_loop *loop);

/** Ends a block that hangdog_expect_block() announced. The end of the outermost block starts a turn. Only the
 * loop's thread may call this function. */
HANGDOG_API void hangdog_expect_block_end(hangdog_loop *loop);

/** Pauses the watch of all loops: no hang counts until hangdog_resume(). Calls nest. The session report still
 * counts all turns. */
HANGDOG_API void hangdog_pause(void);

/** Ends a pause. A turn that is still running then counts from the end of the pause. */
HANGDOG_API void hangdog_resume(void);

/** Sets the program's state, which decides the threshold. Async-signal-safe. */
HANGDOG_API void hangdog_set_state(hangdog_state state);

/**
 * Changes the threshold of a watched loop for the foreground state. The new threshold is valid at once, also
 * for the current turn: a turn that is longer already is a hang. A hang that has started keeps its threshold.
 * Async-signal-safe. Do not call this function once the loop's thread may have ended the watch.
 *
 * @param loop The loop.
 * @param threshold_ns The threshold in nanoseconds; 0: that of hangdog_options.
 * @retval 0 The threshold is changed.
 * @retval -EINVAL `loop` is NULL.
 * @retval -ESRCH The loop is not watched, or Hangdog does not run.
 */
HANGDOG_API int hangdog_set_threshold(hangdog_loop *loop, uint64_t threshold_ns);

/**
 * Changes the threshold of a state for all loops. In the foreground state, a loop that has its own threshold
 * keeps that. The new threshold is valid at once, as with hangdog_set_threshold(). Any thread;
 * async-signal-safe.
 *
 * @param state The state.
 * @param threshold_ns The threshold in nanoseconds, not 0.
 * @retval 0 The threshold is changed until hangdog_stop().
 * @retval -EINVAL `state` is not a hangdog_state, or the threshold is 0.
 * @retval -ESRCH Hangdog does not run.
 */
HANGDOG_API int hangdog_set_state_threshold(hangdog_state state, uint64_t threshold_ns);

/**
 * Changes the time between two samples of a thread, even during a hang. Any thread; async-signal-safe.
 *
 * @param interval_ns The time in nanoseconds, 1 ms to 1 s.
 * @retval 0 The time is changed until hangdog_stop().
 * @retval -EINVAL The time is out of range.
 * @retval -ESRCH Hangdog does not run.
 */
HANGDOG_API int hangdog_set_interval(uint64_t interval_ns);

/** Totals of all loops, and the cost of the watch, since hangdog_start(). Set `size`. Times are nanoseconds.
 */
typedef struct hangdog_totals {
    /** sizeof(hangdog_totals). */
    size_t size;
    /** The number of loops that are watched now. */
    uint64_t loops;
    /** The number of turns of all loops, also of loops that are no longer watched. */
    uint64_t turns;
    /** The time in turns. */
    uint64_t busy_ns;
    /** The time between turns. Utilisation is busy_ns / (busy_ns + idle_ns). */
    uint64_t idle_ns;
    /** The time from hangdog_start() until a loop was idle for the first time; 0: no loop was idle yet. */
    uint64_t launch_ns;
    /** The number of hangs that are over, also of those without a report. */
    uint64_t hangs;
    /** The sum of the durations of these hangs. */
    uint64_t hang_ns;
    /** The duration of the longest of these hangs. */
    uint64_t hang_max_ns;
    /** The duration so far of a hang that is not over, at the monitor's last check; 0: no loop hangs. */
    uint64_t open_hang_ns;
    /** The number of samples: stacks of watched threads that Hangdog has read. */
    uint64_t samples;
    /** The number of system calls that a sample has interrupted and the kernel has not restarted. */
    uint64_t interrupted_syscalls;
    /** The time for which samples have paused watched threads. */
    uint64_t pause_total_ns;
    /** The duration of the longest of these pauses. */
    uint64_t pause_max_ns;
    /** The CPU time of Hangdog's threads. */
    uint64_t cpu_ns;
    /** The longest delay of a check by the monitor. */
    uint64_t late_max_ns;
    /** The number of complete reports on disk, session reports not counted. */
    uint64_t reports_written;
    /** The number of hangs without a report: a cap of hangdog_options was reached, or Hangdog saw the hang
     * too late. */
    uint64_t reports_suppressed;
    /** The number of report files that Hangdog has removed to stay within the limits of the folder. */
    uint64_t reports_dropped;
    /** The number of complete reports that could not be written to the disk. */
    uint64_t reports_failed;
    /** Not 0: the watch cost more than its budget of 0.1 % of a CPU and 1 ms of pauses per second. So Hangdog
     * took fewer samples. */
    uint64_t degraded;
} hangdog_totals;

/**
 * Reads the totals of the process. Any thread, at any time, even while a loop hangs. Async-signal-safe and
 * wait-free: no lock, no allocation.
 *
 * The monitor updates the totals when the loops become idle, and once a second while a loop is in a turn. In
 * a hang of more than 20 s the totals may be 2 s old. A hang counts once its report is written.
 *
 * @param totals Gets the totals. Set `size` before the call: the function writes no member beyond that size.
 * @retval 0 `totals` is filled.
 * @retval -EINVAL `totals` is NULL, or its `size` is less than the size of that member.
 * @retval -ESRCH Hangdog does not run, or is about to start or stop.
 */
HANGDOG_API int hangdog_stats(hangdog_totals *totals);

/** Totals of one loop since its watch started. Set `size`. Times are nanoseconds. */
typedef struct hangdog_loop_totals {
    /** sizeof(hangdog_loop_totals). */
    size_t size;
    /** The number of turns that are over. */
    uint64_t turns;
    /** The time in turns, with the current turn. */
    uint64_t busy_ns;
    /** The time since the loop's first turn started, which is the launch if there is one. Utilisation is
     * busy_ns / watched_ns. */
    uint64_t watched_ns;
    /** The duration so far of the current turn; 0: the loop is idle. */
    uint64_t running_ns;
} hangdog_loop_totals;

/**
 * Reads the totals of a loop at this moment. Any thread; async-signal-safe and wait-free, as hangdog_stats().
 * Do not call this function once the loop's thread may have ended the watch, because another loop may have
 * the handle then.
 *
 * @param loop The loop.
 * @param totals Gets the totals. Set `size` before the call: the function writes no member beyond that size.
 * @retval 0 `totals` is filled.
 * @retval -EINVAL A parameter is NULL, or `size` is less than the size of that member.
 * @retval -ESRCH The loop is not watched, or Hangdog does not run.
 */
HANGDOG_API int hangdog_loop_stats(hangdog_loop *loop, hangdog_loop_totals *totals);

/** The types of events of a hang. */
typedef enum hangdog_event_type {
    /** The turn has become longer than its threshold. The event comes before the first report is written. */
    HANGDOG_EVENT_START = 1,
    /** The hang is not over, and Hangdog has updated its report. That is when the hang's duration has
     * doubled, or 5 s after the last update if the stack stays the same. */
    HANGDOG_EVENT_UPDATE = 2,
    /** The hang is over, and its report is complete. If it ended between two checks of the monitor, it has no
     * HANGDOG_EVENT_START. */
    HANGDOG_EVENT_END = 3,
    /** The turn proved not to be a hang, for instance because the process was stopped meanwhile. */
    HANGDOG_EVENT_WITHDRAWN = 4,
} hangdog_event_type;

/** An event of a hang, as hangdog_next_event() returns it. */
typedef struct hangdog_event {
    /** sizeof(hangdog_event). */
    size_t size;
    /** The number of the event; the first event after hangdog_start() has number 1. Set it before a call to
     * the number of the last event that you have read; 0: none yet. */
    uint64_t number;
    /** The type of the event, a hangdog_event_type. */
    int type;
    /** The Linux thread id of the thread that hangs. */
    int tid;
    /** Not 0: the hang has no report, because a cap of hangdog_options was reached. */
    int suppressed;
    /** Always 0. */
    int reserved;
    /** The time when the turn started: CLOCK_MONOTONIC, in nanoseconds. */
    uint64_t start_ns;
    /** The duration of the turn up to the event, in nanoseconds. */
    uint64_t duration_ns;
    /** The threshold of the turn, in nanoseconds. */
    uint64_t threshold_ns;
    /** The name of the loop. */
    char loop[32];
    /** The id of the hang's report, for `hangdog show`. */
    char report[40];
} hangdog_event;

/**
 * Waits for the next event of a hang and reads it. Hangdog calls no callbacks, because its threads have none
 * of the program's descriptors. Instead, a thread of the program calls this function in a loop. That thread
 * may then call any function and may be slow.
 *
 * @code
 * hangdog_event event = {.size = sizeof event};
 * while (hangdog_next_event(&event, UINT64_MAX) == 0)
 *     log_hang(&event);
 * @endcode
 *
 * Any number of threads may read; each thread reads every event. Hangdog keeps the newest 32 events. If a
 * reader is too slow, `number` jumps by the number of missed events. A hang that Hangdog saw too late has no
 * events, but hangdog_stats() counts it.
 *
 * @param event Gets the event. Set `size` and `number` before the call.
 * @param timeout_ns The longest time to wait, in nanoseconds. 0: the function does not wait, and is
 * async-signal-safe. UINT64_MAX: the wait ends with an event or with hangdog_stop().
 * @retval 0 `event` is filled.
 * @retval -EAGAIN No event came in time.
 * @retval -ESRCH There is no event, and Hangdog does not run.
 * @retval -EINVAL `event` is NULL, or its `size` does not reach to the member `type`.
 */
HANGDOG_API int hangdog_next_event(hangdog_event *event, uint64_t timeout_ns);

#ifdef __cplusplus
}
#endif
#endif
