/* SPDX-License-Identifier: MIT
 *
 * The record: a shared mapping that outlives the process, and shows what the process did until it died. Under
 * a runner (the process `hangdog run`), the mapping is a memory file of the runner. With --exec it is a file
 * in the spool, and otherwise private memory.
 *
 * The watched process updates the record by plain stores, so SIGKILL loses nothing. All members have a fixed
 * width. Readers accept one version and one size only. The watched program can write every byte, so the
 * runner copies and checks the record before use (cli/settle/record_copy.h).
 */
#ifndef HD_RECORD_H
#define HD_RECORD_H

#include <stdatomic.h>

#include "base/types.h"
#include "record/outbox.h"

#define HD_RECORD_MAGIC 0x48414e47444f4701ULL /* "HANGDOG", version 1 */
#define HD_RECORD_STRING 256
#define HD_APP_TEXT 64 /* the bytes for a version, and for the name of an environment */
#define HD_THREADS_NAMED 16
#define HD_THREAD_NAME_BYTES 16 /* the size of a thread's name in the kernel, with the NUL */
#define HD_RECORDS 256u /* the number of records in the runner's file: one for each watched program image */

/* The options of a run. The runner writes them before the program starts. */
struct hd_record_options {
    uint64_t interval_ns, threshold_ns, launch_threshold_ns, cpu_period_ns, frame_drop_ns;
    uint32_t display_hz;
    /* The time when the program starts, just before exec. In the record of a later image or of a child:
     * the time when that image took the record. */
    uint64_t started_ns, started_wall_ns;
    uint32_t reports_per_day, reports_per_fingerprint;
    uint8_t session[HD_UUID_BYTES];
    /* The number of seccomp filters that the runner has. The value is -1 if a filter kills for a system
     * call of Hangdog's, or if the number is unknown. */
    int32_t seccomp_filters;
    /* The program's name. In a child's record the name is empty until the child stores its script or
     * executable. */
    char app_name[HD_RECORD_STRING];
    char app_version[HD_APP_TEXT], environment[HD_APP_TEXT]; /* empty: not known */
    bool app_named; /* true: the user gave the program's name and version, which then apply to children too */
    char spool[4 * HD_RECORD_STRING];
    /* MODULE[:FUNCTION] that the user named as the loop; empty: the recogniser finds the loop. */
    char loop[HD_RECORD_STRING];
    /* The number of names in `thread`: these threads are watched in addition to the main thread. */
    uint32_t threads;
    char thread[HD_THREADS_NAMED][HD_THREAD_NAME_BYTES];
    /* 1: no runner waits for the process (--exec), so the process writes its session report itself. */
    uint32_t exec_mode;
    /* The path of the file that has the records: in /proc/PID/fd, or in the spool. */
    char link[5 * HD_RECORD_STRING];
    /* The program's process id in the program's own PID namespace; 0: unknown. */
    int32_t pid;
    bool of_child;      /* true: the process is a child of the program (--follow) */
    bool crash;         /* true: write a report for a crash */
    bool keep_alive;    /* true: send systemd's keep-alive messages for the program */
    bool without_paths; /* true: leave paths and peers out of reports */
    bool journal;       /* true: the program's stderr goes to the journal (--exec) */
    bool follow;        /* true: watch children too, each with a record of its own */
};

/* The reason why a program that took a record is not watched, or is no longer watched. */
enum hd_unwatched {
    HD_UNWATCHED_NOT,
    /* A seccomp filter that applies to all threads might kill our threads, and the program with them. */
    HD_UNWATCHED_FILTER,
    HD_UNWATCHED_NO_WAIT, /* a watch starts at the first wait, and the program has not waited */
    HD_UNWATCHED_FAILED,  /* there is no memory for the watch, or no thread for the monitor */
    /* A thread other than the main thread changed its ids: our threads follow only the main thread. */
    HD_UNWATCHED_RIGHTS,
    /* The program changed its root folder. A restart would find another /proc and another spool. */
    HD_UNWATCHED_ROOT,
    HD_UNWATCHED_EXEC,  /* the process executed another program, which took no record */
    HD_UNWATCHED_TABLE, /* the system denies the monitor a private descriptor table */
    HD_UNWATCHED_KINDS,
};

/* How much is known about the main thread's loop, or about a named thread's loop if more is known about
 * that one. */
enum hd_record_certainty {
    HD_RECORD_NO_LOOP,
    /* There is a candidate for the loop's wait, but no long turn has returned to the candidate. If the
     * program ends now, hangs are dropped. */
    HD_RECORD_LOOP_DOUBTFUL,
    HD_RECORD_LOOP_LIKELY, /* hangs count even if the program ends now */
    HD_RECORD_LOOP_CERTAIN,
};

enum hd_record_end {
    HD_RECORD_RUNS,          /* the process runs, or has died without a stop */
    HD_RECORD_STOPPED,       /* the monitor has stopped and all reports are written: the record is final */
    HD_RECORD_STOPPED_EARLY, /* the monitor has stopped, maybe before the last reports were written */
};

enum hd_record_hang {
    HD_RECORD_NO_HANG,
    HD_RECORD_HANG_LASTS, /* the hang has lasted for duration_ns so far */
    /* The hang ended after ended_duration_ns. Its report may still say "open". */
    HD_RECORD_HANG_ENDED,
    HD_RECORD_HANG_FATAL, /* the process died in the hang; the report, if there is one, says so */
};

/* The process that uses the record. */
struct hd_record_owner {
    _Atomic uint32_t pid; /* the process's id, stored by compare-and-exchange; 0: the record is free */
    _Atomic uint64_t pid_namespace; /* inode of the PID namespace in which `pid` is valid; 0: unknown */
    /* The time of the exec after which the process uses another record; 0: it still uses this record. */
    _Atomic uint64_t superseded_ns;
    _Atomic uint32_t images;   /* the number of program images that have used the record */
    _Atomic uint64_t image_ns; /* the start time of the present image */
};

struct hd_record_status {
    _Atomic uint32_t attached;        /* 1: the preload took the record; 2: the monitor runs */
    _Atomic uint32_t unwatched;       /* enum hd_unwatched */
    _Atomic uint32_t end;             /* enum hd_record_end */
    _Atomic uint32_t session_written; /* 1: the process wrote its session report itself, or needs none */
    _Atomic uint64_t alive_ns;        /* the time of the monitor's last look */
};

/* The main thread's loop. */
struct hd_record_loop {
    _Atomic uint32_t certainty; /* enum hd_record_certainty */
    /* Waits that may be the loop's: their approximate number and total time. */
    _Atomic uint64_t waits, waited_ns;
    /* The call site of the loop's wait, or of the most frequent wait if the loop is unknown. `call_pc` is
     * an address in the function that waits, `caller_pc` one in its caller. 0: unknown. */
    _Atomic uint64_t call_pc, caller_pc;
};

/* The reports that the runner must finish if the process dies. */
struct hd_record_open {
    _Atomic uint32_t state;     /* enum hd_record_hang: the state of the hang that has the report `hang_id` */
    _Atomic uint32_t is_launch; /* 1: the hang is a launch, so the thread's loop is not known yet */
    /* The id of the session report. A second writer uses the same id, so that the second report replaces
     * the first. */
    uint8_t session_id[HD_UUID_BYTES];
    uint8_t hang_id[HD_UUID_BYTES];
    /* The start of the hang, moved forward by all time that does not count, such as stops. */
    _Atomic uint64_t since_ns;
    _Atomic uint64_t duration_ns, ended_duration_ns;
};

struct hd_record_hangs {
    _Atomic uint64_t count, total_ns, max_ns;
    _Atomic uint64_t reports; /* the number of report files written; deferred reports and updates count too */
    _Atomic uint64_t complete_reports; /* the number of report files written after the end of their hang */
};

struct hd_record_turns {
    _Atomic uint64_t idle_ns, busy_ns, launch_ns;
    /* The program's calls set these. foreground_since_ns is 0 while the program is in the background. */
    _Atomic uint64_t foreground_ns, foreground_since_ns;
    _Atomic uint64_t histogram[HD_TURN_BUCKETS];
};

struct hd_record_frames {
    _Atomic uint64_t count, dropped;
    _Atomic uint64_t total_ns; /* the total length of all frames but the first */
    _Atomic uint64_t hitch_ns; /* the total delay of late frames */
    _Atomic uint64_t histogram[HD_FRAME_BUCKETS];
};

/* The cost of the watch for the program. */
struct hd_record_cost {
    _Atomic uint64_t samples, signals, interrupted_syscalls, restarted_syscalls;
    /* The longest and the total time of a watched thread in our signal handler. */
    _Atomic uint64_t pause_max_ns, pause_total_ns;
    /* The CPU time of our threads, and the longest delay of a look. */
    _Atomic uint64_t cpu_ns, late_max_ns;
};

/* Hangs and samples that no report has. */
struct hd_record_losses {
    _Atomic uint64_t spool_failures, dropped_reports;
    /* The number, total time and longest time of hangs without a report. */
    _Atomic uint64_t suppressed, suppressed_ns, suppressed_max_ns;
    /* The number of reports that were removed, since their hang proved not to be one. */
    _Atomic uint64_t withdrawn;
    _Atomic uint32_t degraded;   /* 1: the monitor took fewer samples, to stay in its CPU budget */
    _Atomic int32_t spool_error; /* the errno value of the first spool failure */
};

/* Values that the runner writes. */
struct hd_record_runner {
    _Atomic uint64_t stopped_ns; /* the total time in which signals such as SIGSTOP stopped the program */
    _Atomic uint32_t quits;      /* 1: the runner passed SIGTERM on, so the program ends */
    /* The time when this copy was written to the spool; 0: the record is not a copy. */
    _Atomic uint64_t mirrored_ns;
};

/* Values that all followed processes store, in the first record only. */
struct hd_record_shared {
    _Atomic uint32_t children_unwatched; /* the number of children that executed a program without a record */
    _Atomic uint32_t failure_printed; /* 1: a process has printed a spool failure to the journal (--exec) */
};

struct hd_record {
    uint64_t magic; /* HD_RECORD_MAGIC */
    uint64_t bytes; /* sizeof(struct hd_record) */
    struct hd_record_options options;
    struct hd_record_owner owner;
    /* The groups from here to `losses` have values of the present program image. They become zeros when
     * another image takes the record. */
    struct hd_record_status status;
    struct hd_record_loop loop;
    struct hd_record_open open;
    struct hd_record_hangs hangs;
    struct hd_record_turns turns;
    struct hd_record_frames frames;
    struct hd_record_cost cost;
    struct hd_record_losses losses;
    struct hd_record_runner runner;
    /* Bit n is set: the thread options.thread[n] has waited. A new image does not clear the bits. */
    _Atomic uint32_t threads_seen;
    struct hd_record_shared shared;
};

/* The runner's file has the records, then the outbox. */
#define HD_RECORD_FILE_BYTES (HD_RECORDS * sizeof(struct hd_record) + sizeof(struct hd_outbox))
static inline struct hd_outbox *hd_record_outbox(struct hd_record *table) {
    return (struct hd_outbox *)(void *)(table + HD_RECORDS);
}

/* Stores whether the program is in the foreground. Any thread; async-signal-safe. */
void hd_record_foreground(struct hd_record *r, bool is, uint64_t now_ns);

/* Counts a hang that has ended. On the monitor or the worker thread. */
void hd_record_add_hang(struct hd_record *r, uint64_t duration_ns);
/* Counts a hang that gets no report. hd_record_add_hang has already counted the hang itself. */
void hd_record_add_suppressed(struct hd_record *r, uint64_t duration_ns);
/* Counts a hang that gets no report. hd_record_add_hang has not counted the hang, so this function does. */
void hd_record_add_unreported(struct hd_record *r, uint64_t duration_ns);

#endif
