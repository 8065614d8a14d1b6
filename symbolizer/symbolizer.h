/* SPDX-License-Identifier: MIT
 *
 * From a place in a module to functions, files and lines. The module's file must be the one that ran: its
 * build-id has to be the report's, or where there is none the file older than the report. Files come from
 * anywhere; a missing or hostile one gives an error. Ordinary code, for one thread.
 */
#ifndef SYMBOLIZER_H
#define SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct symbolizer;

struct symbolizer_options {
    /* Where separate debug files are looked for, as in elfutils and gdb: colon-separated, NULL for
     * ":.debug:/usr/lib/debug". */
    const char *debug_path;
    /* Ask the servers of $DEBUGINFOD_URLS too. Can take as long as a network does. */
    bool debuginfod;
    /* Opens a module's file by its path, as the report has it: the first, second ... that may be it, of which
     * the build-id decides; -1: there is none left. NULL: the file of that name. */
    int (*open)(void *arg, const char *path, unsigned which);
    void *open_arg;
    /* hangdog-name, which reads in this process's place what another user may have written: a file of the
     * report's owner, or one that others than root and this user may exchange. NULL: this process reads
     * all. */
    const char *worker;
};

struct symbol_query {
    const char *path;     /* the module's file */
    const char *build_id; /* lower-case hex; NULL: the module has none */
    int64_t ran_s;   /* when it ran, by the wall clock: who has no build-id is known by no change since */
    uint64_t offset; /* in the file's own numbering: the address in memory less the load bias */
    uint64_t start;  /* of the function, in the same numbering; 0: not known */
    bool exact;      /* offset is an instruction; else a return address, which is looked up at its call */
};

/* One function at a place. The strings live as long as the symbolizer. */
struct symbol {
    const char *function; /* demangled; NULL: not known */
    const char *file;     /* NULL: not known */
    int line;             /* 0: not known */
    bool inlined;         /* into the function that follows */
};

#define SYMBOLS_MAX 64 /* functions at one place */

/* NULL: no memory. */
struct symbolizer *symbolizer_create(const struct symbolizer_options *o);
void symbolizer_destroy(struct symbolizer *s);

/* Before the places of one report. `owner`: the user that may have written its paths. All look-ups of the
 * report together may take SYMBOLIZER_SECONDS; what is left then has symbolizer_late for a reason. Without
 * this call there is no limit, and the owner is this user. */
#define SYMBOLIZER_SECONDS 20
extern const char symbolizer_late[];
void symbolizer_begin(struct symbolizer *s, uid_t owner);

/* Since symbolizer_begin a look-up process could not be started, for want of memory or processes: the same
 * look-ups may do later. */
bool symbolizer_is_starved(const struct symbolizer *s);

/* Fills `out`, innermost first; the last one is the function itself, those before it were inlined. Returns
 * how many; 0: nothing is known of this place, and *reason says why when it is the whole module that cannot
 * be read (a text that lives as long as the symbolizer), else it is NULL. */
int symbolizer_resolve(struct symbolizer *s, const struct symbol_query *q, struct symbol out[SYMBOLS_MAX],
                       const char **reason);

#endif
