/* SPDX-License-Identifier: MIT
 *
 * The processes of one `hangdog attach`, in memory that the command and its reporters share. The command
 * writes, and a reporter reads.
 */
#ifndef CLI_ATTACH_WATCHED_LIST_H
#define CLI_ATTACH_WATCHED_LIST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/reporter/main_thread.h"
#include "cli/reporter/printer_state.h"
#include "record/record.h"

#define WATCHED_MAX 2048 /* later ones have reports, and no line */
#define WATCHED_NOTE_BYTES 256

struct watched_entry {
    /* set once, before the list counts the entry */
    pid_t pid;
    char session[37];                 /* the reports of the process have it */
    struct hd_record_options options; /* the spool, and the start */
    uint64_t since_ns;                /* the watch began */
    /* the latest values of the process's record */
    _Atomic uint32_t certainty; /* enum hd_record_certainty */
    _Atomic uint64_t call_pc, caller_pc, waits, waited_ns;
    _Atomic uint64_t hangs, hang_ns, turns, pool_stalls, pool_stall_ns, lost_reports, removed_reports;
    _Atomic int32_t spool_error;
    _Atomic uint32_t unwatched; /* threads */
    _Atomic uint64_t ended_ns;  /* 0: it is watched */
    atomic_bool left;           /* the process still runs */
    char note[WATCHED_NOTE_BYTES];
    atomic_bool noted;
    /* the reporter's */
    bool loop_printed, note_printed, hint_printed;
    struct main_thread main_thread; /* of the first few processes */
};

struct watched_list {
    struct printer_shared print;
    _Atomic uint32_t count; /* of valid entries */
    _Atomic uint32_t more;  /* processes that found no entry */
    uint64_t started_ns, ended_ns;
    uint32_t found; /* the entry that the command found last: the next is often before it */
    /* set before the first reporter starts */
    bool blind;       /* no hang of a running thread is seen */
    char better[256]; /* a command that allows a better way, or says why there is none */
    struct watched_entry entry[WATCHED_MAX];
};

/* A new entry, which the list counts from now on; NULL: it is full. */
struct watched_entry *watched_list_add(struct watched_list *l, pid_t pid, const struct hd_record *record);
/* The entry of a process that is watched; NULL: none. */
struct watched_entry *watched_list_find(struct watched_list *l, pid_t pid);
/* Copies the latest values. */
void watched_list_update(struct watched_entry *e, const struct hd_record *record);

/* True: the text is the session of one of them. */
bool watched_list_has_session(const struct watched_list *l, const char *session);

#endif
