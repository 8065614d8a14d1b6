/* SPDX-License-Identifier: MIT
 *
 * The servers of debug files in $DEBUGINFOD_URLS, which libdw queries by itself. A server may accept a query
 * and not answer. The first such query is the last one: no screen waits for a second one. Ordinary code.
 */
#ifndef SYMBOLIZER_SERVERS_H
#define SYMBOLIZER_SERVERS_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>

#define SERVERS_ANSWER_SECONDS 5 /* unless $DEBUGINFOD_TIMEOUT says more or less */
#define SERVERS_NAMES 3

struct servers {
    bool use;
    void (*on_wait)(void); /* called once, when a query takes a second; may be NULL */
    bool waited, silent;
    int64_t begun_ms, answer_ms, until_ms; /* of the query that is open */
    unsigned left_out;                     /* modules without a debug file, of which no server sent any */
    const char *name[SERVERS_NAMES];       /* the first of them */
};

/* Call before libdw looks for a debug file. `until_ms`: when a download ends at the latest, 0: no limit.
 * True: libdw may query the servers. */
bool servers_begin(struct servers *s, Dwfl *dwfl, int64_t until_ms);

/* Call when libdw has looked. Counts a module without a debug file once, by *counted, if a server was silent.
 * `file` lives as long as *s. */
void servers_end(struct servers *s, bool *counted, const char *file, bool found);

/* How long a query waits for the first bytes of an answer. */
int64_t servers_answer_seconds(void);

#endif
