/* SPDX-License-Identifier: MIT
 *
 * Where the collector keeps reports, groups, keys and settings. Reports and groups are a backend's: SQLite or
 * ClickHouse (store_backend.h). Keys, settings and notes are in a SQLite file or in PostgreSQL
 * (state_backend.h). Any thread may call all of it; store_add and store_remove_old are the writer's.
 */
#ifndef COLLECTOR_STORE_STORE_H
#define COLLECTOR_STORE_STORE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/error.h"
#include "collector/report/row.h"
#include "collector/report/sha256.h"

struct store;

struct store_place {
    const char *url;   /* of the reports: PATH, sqlite:PATH or clickhouse://HOST:PORT/DATABASE?cluster=NAME */
    const char *state; /* where the reports are in ClickHouse: the SQLite file of keys and settings, or
                          postgresql://USER@HOST/DATABASE */
    long limit_mib;    /* of the SQLite file, 0: none */
};

/* The reports are in a SQLite file, which is then the file of keys and settings, too: its path, else NULL. */
const char *store_file_of(const char *url);

/* The keys and settings are in PostgreSQL. */
bool store_state_is_shared(const char *state);

/* Opens the store, or makes it. Only the owner may read a SQLite file. NULL, and why. */
struct store *store_open(const struct store_place *place, struct problem *why);
void store_close(struct store *s);
/* The limit of struct store_place, in MiB; 0: no limit. */
long store_limit_mib(const struct store *s);

enum store_result {
    STORE_DONE,
    STORE_FULL,
    STORE_FAILED
};

/* Adds all rows, and sets each outcome. When it returns STORE_DONE they are on disk, and each report is there
 * once, also where it was sent before. Else senders send all of them again. */
enum store_result store_add(struct store *s, struct row *const *rows, size_t count);

/* Why the last call of store_add or store_remove_old failed. */
const char *store_error(const struct store *s);

/* Removes at most `max` reports that came before `before_ms`, and the sums of hours before it. How many
 * reports it removed: with less than `max` there is none left. -1: it failed. ClickHouse removes the oldest
 * week, where all of it came before, and returns 0. A report that came while the clock was ahead gets the
 * time of the next one, so that it does not keep later ones. */
long store_remove_old(struct store *s, int64_t before_ms, long max);
/* About how many reports there are, at least that many where some were removed in between; 0: unknown. */
int64_t store_about_reports(struct store *s);

/* Puts what store_add took into its place; the writer calls it when no reports come. */
void store_settle(struct store *s);

/* Groups the next `max` reports again by the present rule, in a transaction of their own; also reports of an
 * interrupted run. Returns their number; 0: all are grouped; -1: failed, or not possible in this store. */
long store_regroup(struct store *s, const json_t *schema, long max);

/* Gives a report that is there the text and the group of `row`, and moves its counts. */
enum store_result store_replace(struct store *s, struct row *row);

/* Which reports go for good, with their part of all sums. One member is set, the others are NULL. */
struct store_erasure {
    const char *id, *app;
    const char *user; /* the installation's id; of a report without one its run's */
};
/* The next `rows` rows of the store, from *at on, which is 0 at first and -1 behind the last one. How many
 * reports went. -1: it failed. -2: this store cannot. */
long store_erase(struct store *s, const struct store_erasure *what, const json_t *schema, int64_t *at,
                 long rows);

/* The reports that wait for this debug file, at most `max`, the oldest first; how many. Then: it waits no
 * more. */
int store_unnamed(struct store *s, const char *build_id, char (*ids)[ROW_ID_CHARS + 1], int max);
bool store_end_unnamed(struct store *s, const char *build_id, const char *id);

/* ---- keys: the store has their hashes only ---- */
enum key_use {
    KEY_SEND,
    KEY_READ,
    KEY_ADMIN,
    KEY_USES
};
#define STORE_APP_BYTES 128
struct store_key {
    int64_t id;
    enum key_use use;
    char app[STORE_APP_BYTES]; /* the app of the key's reports; empty: all apps */
    uint8_t hash[SHA256_BYTES];
    int64_t made_ms, last_used_ms; /* 0: never */
    int64_t day, day_reports;      /* day since 1970, and reports sent on that day */
};
#define STORE_KEYS_MAX 1000
enum store_found {
    STORE_UNREAD = -1 /* the store failed */,
    STORE_NONE,
    STORE_FOUND
};
/* The count, at most `max`; -1: they cannot be read. */
int store_keys(struct store *s, struct store_key *keys, int max);
/* Its number; -1: it failed. */
int64_t store_add_key(struct store *s, enum key_use use, const char *app, const uint8_t hash[SHA256_BYTES]);
/* STORE_NONE: there is none. */
enum store_found store_remove_key(struct store *s, int64_t id);
/* Adds what the key has sent since the last call. */
bool store_count_key(struct store *s, int64_t id, int64_t used_ms, int64_t day, int64_t reports);

/* ---- settings, by name ("retention_days") ---- */
#define STORE_SETTING_BYTES 256
enum store_found store_setting_get(struct store *s, const char *name, char value[STORE_SETTING_BYTES]);
bool store_setting_set(struct store *s, const char *name, const char *value);

/* ---- what pages show; NULL: it is not there, or the store failed. The caller calls json_decref.
 * docs/collector-api.md has the members of each. `app`: "" for all. ---- */
#define STORE_ROWS_MAX 200
/* Which reports; "" or NULL: any. Newest first. */
struct store_filter {
    const char *fingerprint, *version; /* of one group, and of one version in it */
    const char *origin[ORIGINS];       /* and of these hosts, units, containers and images */
    const char *kind, *app;            /* else of a kind that kind_is_listed, of one app, */
    int days;                          /* and of the last days; 0: of all */
    long offset;
    int limit;
};

/* Which groups of the last `days`, and in which order: the largest, or the newest, first. "" or NULL: any. */
enum store_order {
    STORE_BY_TIME,
    STORE_BY_COUNT,
    STORE_BY_USERS,
    STORE_BY_LAST,
    STORE_BY_FIRST
};
enum store_group_kinds {
    STORE_ALL_KINDS /* hangs first */,
    STORE_HANGS,
    STORE_OTHERS
};
struct store_group_filter {
    const char *app, *state; /* open (regressed too), resolved, ignored */
    const char *version;     /* a version of the app; then sums cover all days, and `days` is ignored */
    const char *part, *name; /* else a host, unit, container or image, by row_origin_names; the same */
    bool only_new, only_regressed;
    enum store_group_kinds kinds;
    enum store_order order;
    int days;
    long offset;
    /* For the backends, which do not know states: objects with fingerprints of groups as names.
     * `only`: the wanted groups, NULL: all. `without`: the unwanted groups, NULL: none. */
    const json_t *only, *without;
};
#define STORE_NEW_DAYS 7 /* a group is new for so long */

/* The groups, their totals (of STORE_ALL_KINDS: those of hangs), and what the page has around them. */
json_t *store_overview(struct store *s, const struct store_group_filter *filter);
/* Only the groups and their totals. */
json_t *store_groups(struct store *s, const struct store_group_filter *filter);
/* The versions of an app, or of all, with the sums of their whole life, the newest first; and all apps. */
json_t *store_versions(struct store *s, const char *app);
/* Hosts, units, containers or images, with the sums of their whole life, those with the most time first.
 * by_app: how many of them each app had in the last days. */
#define STORE_ORIGIN_DAYS 30
struct store_origin_filter {
    const char *part, *app; /* a name of row_origin_names; "" for all apps */
    long offset;
};
json_t *store_origins(struct store *s, const struct store_origin_filter *filter);
json_t *store_group(struct store *s, const char *fingerprint);
json_t *store_kinds(struct store *s, const char *app, int days);
json_t *store_compare(struct store *s, const char *app, const char *from, const char *to);
json_t *store_search(struct store *s, const char *words, const char *app, long offset);
json_t *store_counts(struct store *s);
json_t *store_reports(struct store *s, const struct store_filter *filter);
/* The JSON text of a report; the caller frees it. */
char *store_report(struct store *s, const char *id, size_t *bytes);
/* The same as the store has it, for row_text or row_stream_start; the caller frees it. */
void *store_report_body(struct store *s, const char *id, size_t *bytes);
/* Calls `take` with the text of each of the newest whole reports of a group. */
void store_each_report(struct store *s, const struct store_filter *filter,
                       void (*take)(void *to, const char *text, size_t bytes), void *to);

/* The same for many groups of an app, and one version of it: at most `each` of a group. `group` is its place
 * in the list. */
struct store_groups {
    const char *app, *version;
    const json_t *fingerprints; /* texts */
    int each;
};
void store_each_of_groups(struct store *s, const struct store_groups *of,
                          void (*take)(void *to, size_t group, const char *text, size_t bytes), void *to);

/* ---- what people say of a group ---- */
#define STORE_NOTE_MAX 4000
struct store_issue {
    char state[16]; /* open, resolved, ignored */
    char note[STORE_NOTE_MAX + 1];
    char resolved_in[128]; /* the app's newest version when it was resolved */
    int64_t resolved_ms, resolved_count;
};
/* The same of one group, without its note. */
struct store_mark {
    char fingerprint[GROUPING_HEX + 1], state[16], resolved_in[128];
    int64_t resolved_ms, resolved_count;
    bool is_regressed; /* resolved, but new reports arrived */
};
/* Changes what is not NULL. STORE_NONE: no such group. */
enum store_found store_set_issue(struct store *s, const char *fingerprint, const char *state,
                                 const char *note);

#endif
