/* SPDX-License-Identifier: MIT
 *
 * The record: a mapping that shows what a watched process did until it died. Under a runner (the process
 * `hangdog run`), the mapping is a memory file of the runner. With --exec the mapping is a file in the spool.
 * Both outlive the process. Otherwise the mapping is private memory, and is lost with the process.
 *
 * The watched process updates the record by plain stores, so SIGKILL loses nothing. All members have a fixed
 * width. A reader accepts only the version and the size that it knows. The watched program can write every
 * byte, so the runner copies and checks the record before use (cli/settle/record_copy.h).
 */
#ifndef HD_RECORD_H
#define HD_RECORD_H

#include <stdatomic.h>

#include "base/types.h"
#include "record/origin.h"
#include "record/outbox.h"

#define HD_RECORD_MAGIC 0x48414e47444f4701ULL /* "HANGDOG", version 1 */
#define HD_RECORD_STRING 256
#define HD_APP_TEXT 64 /* the size of the text of a version, and of an environment's name, with the NUL */
#define HD_THREADS_NAMED 16
#define HD_THREAD_NAME_BYTES 16 /* the size of a thread's name in the kernel, with the NUL */
#define HD_RECORDS 256u /* the number of records in the runner's file: one for each watched program image */

/* The options of a run. The runner writes them before the program starts. */
struct hd_record_options {
    uint64_t interval_ns, threshold_ns, launch_threshold_ns, cpu_period_ns, frame_drop_ns;
    uint32_t display_hz;
    /* The time when the program starts, just before exec. The record of a later image or of a child has
     * another time: when that image took the record. */
    uint64_t started_ns, started_wall_ns;
    uint32_t reports_per_day, reports_per_fingerprint;
    uint8_t session[HD_UUID_BYTES];
    /* The number of the runner's seccomp filters. -1: one of them kills the process for a system call of
     * Hangdog's, or the number is unknown. */
    int32_t seccomp_filters;
    /* The program's name. In a child's record the name is empty until the child stores its script or
     * executable. */
    char app_name[HD_RECORD_STRING];
    char app_version[HD_APP_TEXT], environment[HD_APP_TEXT]; /* empty: not known */
    /* True: the user gave the program's name and version. Both apply to the program's children too. */
    bool app_named;
    struct hd_origin origin; /* a program that links the library has none: its users did not agree to it */
    char spool[4 * HD_RECORD_STRING];
    /* The user names the program's loop by this text, MODULE[:FUNCTION]. Empty: the recogniser finds the
     * loop. */
    char loop[HD_RECORD_STRING];
    /* The number of names in `thread`. Hangdog watches the threads with these names, and the main thread. */
    uint32_t threads;
    char thread[HD_THREADS_NAMED][HD_THREAD_NAME_BYTES];
    /* 1: no runner waits for the end of the process (--exec), so the process itself writes its session
     * report. */
    uint32_t exec_mode;
    /* The path of the file that has the records. The file is in /proc/PID/fd, or in the spool. */
    char link[5 * HD_RECORD_STRING];
    /* The program's process id in the program's own PID namespace; 0: unknown. */
    int32_t pid;
    bool of_child;      /* true: the process is a child of the program (--follow) */
    bool crash;         /* true: Hangdog writes a report for a crash */
    bool keep_alive;    /* true: Hangdog sends systemd's keep-alive messages for the program */
    bool without_paths; /* true: reports have no paths and no addresses of peers */
    bool journal;       /* true: the program's stderr goes to the journal (--exec) */
    bool follow;        /* true: children are watched too, and each has its own record */
    /* Of a watch from another process: the hook's name and how exact its turns are, in the schema's words.
     * Empty: Hangdog is in the watched process. */
    char hook[16], turns[20];
};

/* The reason why a program that took a record is not watched, or is no longer watched. */
enum hd_unwatched {
    HD_UNWATCHED_NOT,
    /* A seccomp filter applies to all threads of the process. It might kill our threads, and the program with
     * them. */
    HD_UNWATCHED_FILTER,
    HD_UNWATCHED_NO_WAIT, /* the program has made no wait yet, and its first wait starts the watch */
    HD_UNWATCHED_FAILED,  /* there is no memory for the watch, or no thread for the monitor */
    /* A thread other than the main thread changed its user or group ids. Our threads cannot take over these
     * ids, since they compare their rights only with the main thread's. */
    HD_UNWATCHED_RIGHTS,
    /* The program changed its root folder. A watch that starts now would find another /proc and another
     * spool. */
    HD_UNWATCHED_ROOT,
    HD_UNWATCHED_EXEC,  /* the process executed another program, which took no record */
    HD_UNWATCHED_TABLE, /* the system denies the monitor a private descriptor table */
    HD_UNWATCHED_KINDS,
};

/* How much the recogniser knows about the main thread's loop. If the recogniser knows more about the loop of
 * a thread that the user named, the value describes that loop. */
enum hd_record_certainty {
    HD_RECORD_NO_LOOP,
    /* There is a candidate for the loop's wait, but no long turn has returned to the candidate. If the
     * program ends now, reports of this loop's hangs are dropped. */
    HD_RECORD_LOOP_DOUBTFUL,
    /* If the program ends now, reports of this loop's hangs stay valid. The loop is not certain yet. */
    HD_RECORD_LOOP_LIKELY,
    HD_RECORD_LOOP_CERTAIN,
};

enum hd_record_end {
    HD_RECORD_RUNS,          /* the process runs, or has died before Hangdog stopped */
    HD_RECORD_STOPPED,       /* the monitor has stopped, and all reports are written */
    HD_RECORD_STOPPED_EARLY, /* the monitor has stopped, maybe before the last reports were written */
};

enum hd_record_hang {
    HD_RECORD_NO_HANG,
    HD_RECORD_HANG_LASTS, /* the hang has lasted for duration_ns so far */
    /* The hang ended after ended_duration_ns. Its report may still say "open". */
    HD_RECORD_HANG_ENDED,
    HD_RECORD_HANG_FATAL, /* the process died in the hang; if the hang has a report, the report says so */
};

/* The process that uses the record. */
struct hd_record_owner {
    _Atomic uint32_t pid; /* the process's id; 0: the record is free */
    /* Inode of the PID namespace in which `pid` is valid; 0: not known or not needed. */
    _Atomic uint64_t pid_namespace;
    /* The time of the exec after which the process uses another record. 0: the process uses this record. */
    _Atomic uint64_t superseded_ns;
    /* The number of program images (one after each exec) that have used the record. */
    _Atomic uint32_t images;
    _Atomic uint64_t image_ns; /* the start time of the present image */
};

struct hd_record_status {
    _Atomic uint32_t attached;        /* 1: the preload took the record; 2: the monitor runs too */
    _Atomic uint32_t unwatched;       /* enum hd_unwatched */
    _Atomic uint32_t end;             /* enum hd_record_end */
    _Atomic uint32_t session_written; /* 1: the process itself wrote its session report, or needs none */
    _Atomic uint64_t alive_ns;        /* the time of the monitor's last look */
};

/* The main thread's loop. */
struct hd_record_loop {
    _Atomic uint32_t certainty; /* enum hd_record_certainty */
    /* The approximate number and the total time of the waits that may be the loop's. */
    _Atomic uint64_t waits, waited_ns;
    /* The call site of the loop's wait. If the loop is unknown, the call site of the most frequent wait.
     * `call_pc` is an address in the wait function, such as epoll_wait, and `caller_pc` one in that
     * function's caller. 0: unknown. */
    _Atomic uint64_t call_pc, caller_pc;
};

/* The open hang, and the session report: the report about the whole run. If the process dies, the hangdog
 * command finishes both reports. */
struct hd_record_open {
    _Atomic uint32_t state; /* enum hd_record_hang: the state of the hang whose report has the id `hang_id` */
    _Atomic uint32_t
        is_launch; /* 1: the hang is a launch; before its first wait, a thread has no known loop */
    /* The id of the session report. If the process and the hangdog command both write the report, the second
     * replaces the first, since both use this id. */
    uint8_t session_id[HD_UUID_BYTES];
    uint8_t hang_id[HD_UUID_BYTES];
    /* The time when the hang started, plus all time in the hang that does not count, such as a stop by
     * SIGSTOP. */
    _Atomic uint64_t since_ns;
    _Atomic uint64_t duration_ns, ended_duration_ns;
};

struct hd_record_hangs {
    _Atomic uint64_t count, total_ns, max_ns;
    /* The number of report files written. A deferred report counts, and each update of a report counts
     * again. */
    _Atomic uint64_t reports;
    _Atomic uint64_t complete_reports; /* the number of report files written after their hangs had ended */
};

/* Times in which all threads of a pool were busy, and the loop waited. They are no hangs. */
struct hd_record_pools {
    _Atomic uint64_t stalls, stall_ns, max_ns;
};

struct hd_record_turns {
    _Atomic uint64_t idle_ns, busy_ns, launch_ns;
    /* The program's total time in the foreground, and the time when it last came there. The public API sets
     * both. `foreground_since_ns` is 0 while the program is in the background. */
    _Atomic uint64_t foreground_ns, foreground_since_ns;
    _Atomic uint64_t histogram[HD_TURN_BUCKETS];
};

struct hd_record_frames {
    _Atomic uint64_t count, dropped;
    _Atomic uint64_t total_ns; /* the total time of all display frames but the first */
    _Atomic uint64_t hitch_ns; /* the total delay of late display frames */
    _Atomic uint64_t histogram[HD_FRAME_BUCKETS];
};

/* The costs that the watch has for the program. */
struct hd_record_cost {
    _Atomic uint64_t samples, signals, interrupted_syscalls, restarted_syscalls;
    /* The longest time and the total time that a watched thread spent in our signal handler. */
    _Atomic uint64_t pause_max_ns, pause_total_ns;
    /* The CPU time of our threads, and the longest delay of a look. */
    _Atomic uint64_t cpu_ns, late_max_ns;
};

/* Counts of what the reports lack: hangs, whole reports, and samples. */
struct hd_record_losses {
    _Atomic uint64_t spool_failures, dropped_reports;
    /* The number, total time and longest time of hangs without a report. */
    _Atomic uint64_t suppressed, suppressed_ns, suppressed_max_ns;
    /* The number of reports that were removed, since their hangs were withdrawn. */
    _Atomic uint64_t withdrawn;
    _Atomic uint32_t degraded;   /* 1: the monitor took fewer samples, since its CPU time has a limit */
    _Atomic int32_t spool_error; /* the errno value of the first spool failure */
};

/* Values that the runner writes. */
struct hd_record_runner {
    _Atomic uint64_t stopped_ns; /* the total time in which signals such as SIGSTOP stopped the program */
    _Atomic uint32_t quits;      /* 1: the runner passed SIGTERM on, and the program is about to end */
    /* The time when the runner wrote this copy of a record to the spool. 0: this is the record itself. */
    _Atomic uint64_t mirrored_ns;
};

/* Values of all watched processes of a run. Only the first record of the file has them. */
struct hd_record_shared {
    /* The number of children that executed a program that took no record. */
    _Atomic uint32_t children_unwatched;
    /* 1: a process has written a line about a spool failure to the journal (--exec). */
    _Atomic uint32_t failure_printed;
};

struct hd_record {
    uint64_t magic; /* HD_RECORD_MAGIC */
    uint64_t bytes; /* sizeof(struct hd_record) */
    struct hd_record_options options;
    struct hd_record_owner owner;
    /* The members from `status` to `losses` describe the present program image. They become zeros when
     * another image takes the record. */
    struct hd_record_status status;
    struct hd_record_loop loop;
    struct hd_record_open open;
    struct hd_record_hangs hangs;
    struct hd_record_pools pools;
    struct hd_record_turns turns;
    struct hd_record_frames frames;
    struct hd_record_cost cost;
    struct hd_record_losses losses;
    struct hd_record_runner runner;
    /* Bit n is set: a thread with the name options.thread[n] has made a wait. The bits stay when another
     * program image takes the record. */
    _Atomic uint32_t threads_seen;
    struct hd_record_shared shared;
};

/* The runner's file has HD_RECORDS records, and then the outbox. */
#define HD_RECORD_FILE_BYTES (HD_RECORDS * sizeof(struct hd_record) + sizeof(struct hd_outbox))
static inline struct hd_outbox *hd_record_outbox(struct hd_record *table) {
    return (struct hd_outbox *)(void *)(table + HD_RECORDS);
}

/* Stores whether the program is in the foreground at `now_ns`. Any thread; async-signal-safe. */
void hd_record_foreground(struct hd_record *r, bool is, uint64_t now_ns);

/* Counts a hang that has ended. Only the monitor and the worker thread call this function. */
void hd_record_add_hang(struct hd_record *r, uint64_t duration_ns);
/* Counts a stall of a pool that has ended. Only the worker thread calls this function. */
void hd_record_add_pool_stall(struct hd_record *r, uint64_t duration_ns);
/* Counts a hang without a report. The caller has already called hd_record_add_hang for the hang. */
void hd_record_add_suppressed(struct hd_record *r, uint64_t duration_ns);
/* Counts a hang without a report. The caller has not called hd_record_add_hang: this function does. */
void hd_record_add_unreported(struct hd_record *r, uint64_t duration_ns);

#endif
