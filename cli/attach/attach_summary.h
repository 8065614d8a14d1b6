/* SPDX-License-Identifier: MIT
 *
 * The last lines of `hangdog attach`: what the watch cost and found, and what it could not see.
 */
#ifndef CLI_ATTACH_SUMMARY_H
#define CLI_ATTACH_SUMMARY_H

#include <stddef.h>

#include "cli/attach/watched_list.h"
#include "cli/reporter/printer_state.h"

struct attach_result {
    const struct printer *printer;
    struct watched_list *list;
    int64_t threshold_ns;
};

/* "no thread waited as a loop does; the main thread spent 4.3 s sleeping in clock_nanosleep" */
void attach_summary_reason(char *to, size_t size, const struct watched_entry *e);

void attach_summary_print(const struct attach_result *r);

#endif
