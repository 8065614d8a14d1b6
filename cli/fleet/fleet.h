/* SPDX-License-Identifier: MIT
 *
 * `hangdog serve` and `hangdog upload` as the command sees them: their options, and the start of their
 * programs. Ordinary code.
 */
#ifndef CLI_FLEET_H
#define CLI_FLEET_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/options.h"

#define FLEET_LISTEN "127.0.0.1:8437"

struct serve_options {
    const char *listen;             /* NULL: FLEET_LISTEN */
    const char *store;              /* the SQLite file, or a URL; NULL: the user's file */
    const char *state;              /* the SQLite file of keys and settings, where the store is no file */
    const char *new_key;            /* "send:APP", "send", "read" or "admin": print a new key, and end */
    bool keys;                      /* print the list of keys, and end */
    long revoke;                    /* the number of a key to remove; 0: none */
    const char *tls_cert, *tls_key; /* PEM files; NULL: plain HTTP */
    const char *log;                /* "text" or "json"; NULL: problems only */
    long rate;                      /* reports a second from one key; 0: as the store says */
    long limit;                     /* MiB that the store may take; 0: no limit */
    long retention;                 /* days; -1: as the store says */
    long connections, per_address;  /* at once; from one address, 0: any number */
    bool regroup;                   /* group all reports again, and end */
    int64_t patience;               /* for the head of a request, ns */
};

struct upload_options {
    const char *to, *key, *spool, *ca;
    bool watch, keep, no_symbols;
    bool metered, wifi_only;
    long daily_bytes; /* 0: no limit */
    int64_t every;    /* between two looks at the spool */
    long retries;
};

struct agent_options {
    const char *rules, *spool, *socket;
    const char *metrics, *metrics_file; /* ADDRESS:PORT; a file; NULL: none */
    const char *hook;                   /* the name of a way; NULL: the best */
    const char *cpu;                    /* percent of a CPU */
    int64_t threshold;
    long memory; /* MiB */
    bool check;  /* read the rules, print what they mean for the processes of now, and end */
};

struct symbols_options {
    const char *to, *key, *ca;
    long retries;
};

/* Checks the arguments of a command without operands, and calls fleet_start. `options`: its struct of
 * options. Returns the exit status. */
int fleet_check_and_start(const struct command *command, void *options, const char *program, int argc,
                          char **argv);

/* Becomes the program of that name next to this command, with the same arguments. It returns only where the
 * program cannot be started: then an error is printed, and this is the exit status. */
int fleet_start(const char *program, int argc, char **argv);

#endif
