/* SPDX-License-Identifier: MIT
 *
 * The memory of the printer (printer.h), for the units that it calls.
 */
#ifndef CLI_PRINTER_STATE_H
#define CLI_PRINTER_STATE_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/output.h"
#include "cli/reporter/hang_table.h"
#include "cli/reporter/on_hang.h"
#include "cli/reporter/printed.h"

#define PRINTER_WHY_BYTES 64

struct symbolizer;

/* All pointers stay valid as long as the printer is used. */
struct printer_options {
    const char *on_hang;     /* NULL: none */
    const char *spool_words; /* " --spool DIR" for printed commands; empty: the default spool */
    const char *json_file;   /* of --json=FILE, else NULL */
    int json_fd;             /* that file, or -1 */
    bool json;               /* reports are printed as JSON, not as text */
    bool quiet;
    bool not_kept;  /* the spool goes with the run */
    bool to_stdout; /* all is printed on stdout, not on stderr */
    bool no_signal; /* a seccomp filter may forbid the parent-death signal */
    /* Opens files of programs in whose place we may have others. NULL: files are opened by their paths.
     * `begin`: the next files are of this process. `open`: as in struct symbolizer_options. */
    struct printer_files {
        void (*begin)(void *arg, int pid);
        int (*open)(void *arg, const char *path, unsigned which);
        void *arg;
    } files;
};

/* Shared with the process that started the reporter. A second reporter continues with the values. */
struct printer_shared {
    /* the starter writes */
    atomic_bool finish; /* the programs have ended: print the rest */
    atomic_bool hurry;  /* a signal asks the command to end, too */
    /* the printer writes */
    struct output_state output;
    struct printed printed;
    struct hang_table table;
    bool crash_reported;
    atomic_bool session_printed; /* with --json */
};

struct printer {
    const struct printer_options *options;
    struct printer_shared *shared;
    pid_t starter;
    int wake_fd;                 /* an eventfd: read `shared` again */
    bool names;                  /* symbols are looked up */
    char why[PRINTER_WHY_BYTES]; /* why not */
    /* the owner's functions. Whether it is a report of the owner's. How long an open hang lasts; 0: it may
     * have ended without a new report. */
    void *owner;
    bool (*is_ours)(void *owner, const json_t *report);
    uint64_t (*age)(void *owner, const struct printed_report *p, uint64_t now_ns);
    /* the printer's own */
    int signal_fd; /* SIGCHLD */
    struct on_hang commands;
    struct symbolizer *symbolizer; /* made when it is first needed */
    bool colour, on_terminal;      /* of the stream */
    bool unread;                   /* a report, for want of memory */
    unsigned unprinted;            /* hangs, for want of memory */
    unsigned open_stalls;          /* of pools, as the program ended */
    uint64_t open_stall_ns;
    unsigned unwritten; /* reports that are not in the file of --json */
    int json_error;     /* why, an errno value */
    char *pending;      /* text, while the program draws on the screen; NULL: none */
    size_t pending_bytes;
};

#endif
