/* SPDX-License-Identifier: MIT
 *
 * query: how long the collector takes to answer what each page asks for, over HTTP, with more and more
 * reports in its store. The store is filled in bulk.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "collector/store/store.h"
#include "fleet/query_client.h"
#include "fleet/query_fill.h"
#include "fleet/query_load.h"

#define REPORTS_FAST 10000
#define REPORTS_USUAL 1000000
#define REQUESTS 100
#define REQUESTS_FAST 5
#define RANKS 50 /* groups that also a small store has */
#define TARGET_MS 300.0

struct page {
    const char *name;
    const char *path; /* %s: a group's fingerprint */
    unsigned rank;    /* of the group; each request takes the next one, but for the first group's page */
};

/* At 300 ms a person does not wait. */
static const struct page pages[] = {
    {"overview", "overview?days=30", 0},
    {"overview.90_days", "overview?days=90", 0},
    {"overview.app", "overview?days=30&app=app-03", 0},
    {"groups.hangs", "groups?days=90&kind=hang&sort=hangs", 0},
    {"groups.users", "groups?days=90&kind=hang&sort=users", 0},
    {"groups.new", "groups?days=90&seen=new&sort=first", 0},
    {"groups.offset", "groups?days=90&kind=hang&offset=1000", 0},
    {"versions", "versions?app=app-03", 0},
    {"group.largest", "groups/%s", 0},
    {"group", "groups/%s", 10},
    {"stack.largest", "groups/%s/stack", 0},
    {"stack.version", "groups/%s/stack?version=4.5", 10},
    {"stack.inverted", "groups/%s/stack?inverted=1", 10},
    {"reports", "groups/%s/reports", 10},
    {"reports.version", "groups/%s/reports?version=4.5", 10},
    {"reports.offset", "groups/%s/reports?offset=10000", 0},
    {"compare", "compare?app=app-03&from=4.3&to=4.7", 0},
    {"search", "search?q=bug_4711", 0},
    {"search.version", "search?q=3.3", 0},
    {"search.id", "search?q=0000", 0},
    {"kinds", "kinds?days=30", 0},
    {"kind", "reports?kind=cpu", 0},
    {"kind.days", "reports?kind=cpu&days=30", 0},
    {"kind.app", "reports?kind=crash&app=app-03&offset=1000", 0},
};
#define PAGES (sizeof pages / sizeof pages[0])

static int measure(const struct query_client *client, const struct query_load *load, uint64_t reports,
                   const struct page *page) {
    char path[256], name[64];
    double ms[REQUESTS];
    unsigned count = bench_options.fast ? REQUESTS_FAST : REQUESTS;
    size_t bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned rank = page->rank > 0 ? page->rank + i % RANKS : 0;
        snprintf(path, sizeof path, page->path, query_load_bug(load, rank)->group.fingerprint);
        uint64_t begun = bench_now_ns();
        if (query_client_get(client, path, &bytes) != 0) {
            fprintf(stderr, "hangdog-bench: no answer to %s\n", path);
            return -1;
        }
        ms[i] = (double)(bench_now_ns() - begun) / 1e6;
    }
    double median = bench_median(ms, count), p99 = bench_percentile(ms, count, 99);
    snprintf(name, sizeof name, "query.%.0e.%s", (double)reports, page->name);
    bench_report(name, p99, "ms", TARGET_MS, p99 <= TARGET_MS, "median", median);
    if (bench_options.verbose) {
        fprintf(stderr, "%s: %zu bytes\n", name, bytes);
    }
    return 0;
}

static void report_size(const char *path, uint64_t reports) {
    char name[64];
    struct stat st;
    if (stat(path, &st) == 0) {
        snprintf(name, sizeof name, "query.%.0e.file", (double)reports);
        bench_report(name, (double)st.st_size / 1048576, "MiB", NAN, true, "bytes a report",
                     (double)st.st_size / (double)reports);
    }
}

static int measure_all(const char *path, const struct query_load *load, uint64_t reports) {
    struct query_client client;
    int result = query_client_start(&client, path);
    for (size_t i = 0; result == 0 && i < PAGES; i++) {
        result = measure(&client, load, reports, &pages[i]);
    }
    query_client_end(&client);
    if (result == 0) {
        report_size(path, reports);
    }
    return result;
}

/* Fills a store under another name, which no later run takes for a whole one. */
static int fill(const char *path, struct query_load *load, uint64_t reports) {
    char part[BENCH_PATH + 64];
    struct problem why;
    snprintf(part, sizeof part, "%s.part", path);
    unlink(part);
    struct store *store = store_open(&(struct store_place){.url = part}, &why);
    if (store == NULL) {
        error_print(&why);
        return -1;
    }
    store_close(store); /* it has made the tables */
    if (query_fill(part, load, reports) != 0) {
        return -1;
    }
    if (rename(part, path) != 0) {
        fprintf(stderr, "hangdog-bench: cannot make %s: %s\n", path, strerror(errno));
        return -1;
    }
    return 0;
}

static int fill_and_measure(const char *folder, uint64_t reports) {
    char path[BENCH_PATH + 48];
    snprintf(path, sizeof path, "%s/%" PRIu64 "-seed-%" PRIu64 ".db", folder, reports, bench_options.seed[0]);
    struct query_load *load = query_load_new(bench_options.seed[0], reports);
    if (load == NULL) {
        return -1;
    }
    int result = access(path, F_OK) == 0 ? 0 : fill(path, load, reports);
    result = result == 0 ? measure_all(path, load, reports) : result;
    query_load_free(load);
    return result;
}

/* Fills the given store, whose database is new, by the store's own functions, and measures its pages. */
static int fill_and_measure_given(const char *url, const char *folder, uint64_t reports) {
    char state[BENCH_PATH + 48];
    struct problem why;
    snprintf(state, sizeof state, "%s/state.db", folder);
    struct query_load *load = query_load_new(bench_options.seed[0], reports);
    struct store *store = store_open(&(struct store_place){.url = url, .state = state}, &why);
    if (store == NULL) {
        error_print(&why);
    }
    int result = load == NULL || store == NULL ? -1 : query_fill_by_adding(store, load, reports);
    store_close(store);
    result = result == 0 ? measure_all(state, load, reports) : result;
    if (load != NULL) {
        query_load_free(load);
    }
    return result;
}

/* A store of its own for 10,000 reports, for 100,000, and so on: all have the same 90 days. */
int bench_query(void) {
    char folder[BENCH_PATH];
    uint64_t most = bench_options.fast          ? REPORTS_FAST
                    : bench_options.reports > 0 ? bench_options.reports
                                                : REPORTS_USUAL;
    int result = 0;
    const char *const given = getenv("HANGDOG_BENCH_STORE");
    if (given != NULL) {
        result = bench_folder_make(folder) != 0 || fill_and_measure_given(given, folder, most) != 0;
        bench_folder_remove(folder);
        return result;
    }
    for (uint64_t reports = REPORTS_FAST; result == 0 && reports <= most; reports *= 10) {
        if (bench_options.stores != NULL) {
            result = fill_and_measure(bench_options.stores, reports);
            continue;
        }
        if (bench_folder_make(folder) != 0) {
            return -1;
        }
        result = fill_and_measure(folder, reports);
        bench_folder_remove(folder);
    }
    return result;
}
