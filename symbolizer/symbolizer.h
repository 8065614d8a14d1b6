/* SPDX-License-Identifier: MIT
 * From a place in a module to functions, files and lines. The module's file must be the one that ran: its
 * build-id is that of the report. Without a build-id, the file must be older than the report. Files are
 * hostile input: a wrong one gives an error. One thread.
 */
#ifndef SYMBOLIZER_H
#define SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct symbolizer;

struct symbolizer_options {
    /* Folders of separate debug files, as in elfutils and gdb: colon-separated; NULL:
     * ":.debug:/usr/lib/debug". */
    const char *debug_path;
    /* Folders of files with symbols for programs of Apple's systems, such as dSYM bundles: colon-separated. A
     * file's UUID selects it. NULL: none. */
    const char *symbols;
    /* Query the servers of $DEBUGINFOD_URLS too, which may take long. */
    bool debuginfod;
    /* Called once, when the servers have taken a second. NULL: no user waits at a screen. */
    void (*on_wait)(void);
    /* Opens candidate number `which` for a module's file, by the path in the report; -1: no further one. The
     * build-id selects among them. NULL: opens the path itself. */
    int (*open)(void *arg, const char *path, unsigned which);
    void *open_arg;
    /* Path of hangdog-name. It reads files that a user other than root and this one may have written, such as
     * files of the report's owner. NULL: this process reads all files. */
    const char *worker;
};

struct symbol_query {
    const char *path;     /* the module's file */
    const char *build_id; /* lower-case hex; NULL: the module has none */
    int64_t ran_s;   /* when it ran, by the wall clock; a file without build-id must be unchanged since */
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

/* Call before the look-ups of one report. `owner`: the user that may have written the report's paths. All
 * look-ups of the report may take SYMBOLIZER_SECONDS; later ones fail with the reason symbolizer_late.
 * Without this call there is no limit, and the owner is this user. */
#define SYMBOLIZER_SECONDS 20
extern const char symbolizer_late[];
void symbolizer_begin(struct symbolizer *s, uid_t owner);

/* Returns the number of files that were not looked up, because no server answered within *seconds. The first
 * of them are in `paths`. */
#define SYMBOLIZER_UNSERVED 3
unsigned symbolizer_unserved(const struct symbolizer *s, const char *paths[SYMBOLIZER_UNSERVED],
                             int64_t *seconds);

/* True: since symbolizer_begin, a look-up process could not start for lack of memory or processes. The same
 * look-ups may succeed later. */
bool symbolizer_is_starved(const struct symbolizer *s);

/* Fills `out`, innermost first: inlined functions, then the function itself. Returns their number; 0: not
 * known. If the whole module cannot be read, *reason is the reason, a text that lives as long as the
 * symbolizer; else NULL. */
int symbolizer_resolve(struct symbolizer *s, const struct symbol_query *q, struct symbol out[SYMBOLS_MAX],
                       const char **reason);

#endif
