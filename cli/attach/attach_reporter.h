/* SPDX-License-Identifier: MIT
 *
 * The reporter of `hangdog attach`: it finds new reports in the spools of all watched processes and prints
 * them. At the end it prints the summary. One thread of a process of its own.
 */
#ifndef CLI_ATTACH_REPORTER_H
#define CLI_ATTACH_REPORTER_H

#include "cli/attach/attach_options.h"
#include "cli/attach/watched_list.h"
#include "cli/reporter/printer_state.h"

struct attach_reporter {
    struct printer printer;
    struct printer_options print;
    const struct attach_options *options;
    struct watched_list *list;
};

/* Maps the list. 0 or a negative errno value. */
int attach_reporter_prepare(struct attach_reporter *r, const struct attach_options *o);

/* In the reporter's process: all of it. */
void attach_reporter_run(void *reporter);

#endif
