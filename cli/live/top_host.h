/* SPDX-License-Identifier: MIT
 *
 * The programs of the host, as hangdog-agent knows them: those that this user may see. Ordinary code.
 */
#ifndef CLI_LIVE_TOP_HOST_H
#define CLI_LIVE_TOP_HOST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/error.h"

enum host_order {
    HOST_BY_RATE, /* hangs an hour */
    HOST_BY_WORST,
    HOST_BY_BUSY,
    HOST_BY_NAME,
    HOST_ORDERS
};

struct host_row {
    int pid;
    unsigned uid;
    char name[64];  /* of the app, as in the reports */
    char place[64]; /* the container, else the unit; empty: none */
    uint64_t hangs, lost_ns, worst_ns, busy_ns, idle_ns, watched_ns, loops;
    uint64_t frozen_ns;  /* of the hang that is not over; 0: none */
    double busy_percent; /* since the fetch before; less than zero: not known */
};

struct top_host {
    struct host_row *row;
    size_t count;
    char hook[16], less[160];
    bool all_users;
    uint64_t at_ns, cpu_ns, resident_bytes, left_out;
    double cpu_percent; /* of the agent; less than zero: not known */
};

/* Fetches the present state from the agent's socket. False, and why; *h stays as it is. */
bool top_host_fetch(struct top_host *h, const char *socket, struct problem *why);
void top_host_free(struct top_host *h);

/* Equal ones stand by their numbers. */
void top_host_sort(struct top_host *h, enum host_order order);

/* Hangs an hour; a program that is watched for less than a minute has none yet. */
double host_row_rate(const struct host_row *row);

/* ---- private ---------------------------------------------------------------------------------- */

/* Takes the agent's answer. Shares of a CPU come from the difference to what *h has. False: out of memory. */
bool top_host_take(struct top_host *h, const json_t *status);

#endif
