/* SPDX-License-Identifier: MIT
 *
 * `hangdog export`: its options, and the reports that they mean. Ordinary code.
 */
#ifndef CLI_EXPORT_SELECT_H
#define CLI_EXPORT_SELECT_H

#include <jansson.h>
#include <stdbool.h>

struct export_options {
    const char *format; /* NULL: text */
    const char *spool;  /* NULL: those of every app */
    const char *app, *since;
    const char *output; /* NULL: stdout */
    const char *send;   /* NULL: print */
    const char *ca;
    long retries;
    const char *symbols;
    bool all, no_symbols;
};

/* The format has sums of a spool, and no stacks. */
bool export_is_of_spool(const struct export_options *o);

/* --send is for this format. */
bool export_can_send(const struct export_options *o);
/* Prints which formats --send is for. The exit status of a wrong use. */
int export_refuse_send(void);

/* An array of the reports that `named` means: `count` ids or files. Without names it is the latest report, or
 * with --all, --app or --since each report of the spool. NULL after an error, with the exit status. */
json_t *export_select(const struct export_options *o, char **named, int count, int *status);

#endif
