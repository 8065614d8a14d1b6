/* SPDX-License-Identifier: MIT
 *
 * The load of `query`: reports as a fleet sends them in 90 days. 20 apps have 5,000 bugs, of which few are
 * frequent (Zipf); each app releases 50 versions. One thread.
 */
#ifndef BENCH_QUERY_LOAD_H
#define BENCH_QUERY_LOAD_H

#include <stddef.h>
#include <stdint.h>

#include "collector/report/row.h"

#define QUERY_APPS 20
#define QUERY_BUGS 5000
#define QUERY_VERSIONS 50
#define QUERY_DAYS 90
#define QUERY_USERS 3000000

struct query_load;

/* NULL: no memory. `all`: the reports that will be made in all; the last is of today. */
struct query_load *query_load_new(uint64_t seed, uint64_t all);
void query_load_free(struct query_load *l);
/* What the load chose for a report. */
struct query_choice {
    unsigned app, bug, version, system, kind, user;
};
extern const char *const query_load_kinds[];

/* The next report. Its body is the load's own: no row_free. */
void query_load_next(struct query_load *l, struct row *out, struct query_choice *choice);

/* What numbers stand for; bugs have them by their frequency, from 0. */
const struct row *query_load_bug(const struct query_load *l, unsigned bug);
const char *query_load_app(unsigned app, char out[32]);
const char *query_load_version(unsigned version, char out[32]);
const char *query_load_system(unsigned system, char out[160]);
const char *query_load_user(unsigned user, char out[64]);

#endif
