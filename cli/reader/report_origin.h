/* SPDX-License-Identifier: MIT
 *
 * Where a report's program ran: host, systemd unit, container. Options of `list` and `stats`, and members of
 * their rows.
 */
#ifndef CLI_REPORT_ORIGIN_H
#define CLI_REPORT_ORIGIN_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/base/options.h"

/* Patterns of the shell; NULL lets every report pass. */
struct report_origin {
    const char *host, *unit, *container;
};

/* `options`: the struct of the command's options. Then its members. */
#define OPTION_ORIGIN(options, member, name_, help_, more_)                                            \
    {                                                                                                  \
        .name = (name_), .kind = OPTION_TEXT, .to = offsetof(struct options, member), .value = "NAME", \
        .help = (help_), .more = (more_)                                                               \
    }
#define OPTION_ORIGINS(options, host_member, unit_member, container_member)                               \
    OPTION_ORIGIN(options, host_member, "host", "of this host, as 'web-*'",                               \
                  "NAME is a pattern of the shell."),                                                     \
        OPTION_ORIGIN(options, unit_member, "unit", "of this systemd unit, as nginx",                     \
                      "A name without an end is a service's, too. NAME is a pattern of the shell."),      \
        OPTION_ORIGIN(options, container_member, "container", "of this container: its name, image or id", \
                      "NAME is a pattern of the shell, as 'registry/shop:*'.")

bool report_origin_fits(const json_t *report, const struct report_origin *wanted);
/* True: all reports fit. */
bool report_origin_is_any(const struct report_origin *wanted);
/* Adds the texts `host`, `unit` and `container` that the report has. A container without a name is its id's
 * first 12 digits, as runtimes print it. */
void report_origin_add(json_t *summary, const json_t *report);

#endif
