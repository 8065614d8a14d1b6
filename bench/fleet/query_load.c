/* SPDX-License-Identifier: MIT */
#include "fleet/query_load.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zstd.h>

#include "collector/report/sha256.h"

#define EXPONENT 1.05
#define TEXT_BYTES 16384
#define LEVEL 3
#define DAY_MS INT64_C(86400000)
#define FRAMES_MIN 14
#define FRAMES_MORE 20

struct bug {
    struct row row; /* what all of its reports have in common */
    unsigned app, first_version;
};

struct query_load {
    uint64_t random, made, all;
    int64_t start_ms;
    double sum[QUERY_BUGS]; /* of the frequencies up to each bug */
    struct bug bug[QUERY_BUGS];
};

struct text {
    char to[TEXT_BYTES];
    size_t used;
};

/* xorshift64* */
static uint64_t next_random(struct query_load *l) {
    l->random ^= l->random >> 12;
    l->random ^= l->random << 25;
    l->random ^= l->random >> 27;
    return l->random * UINT64_C(2685821657736338717);
}

static unsigned below(struct query_load *l, unsigned limit) {
    return (unsigned)(next_random(l) >> 33) % limit;
}

static double unit(struct query_load *l) {
    return (double)(next_random(l) >> 11) / 9007199254740992.0;
}

static void __attribute__((format(printf, 2, 3))) add(struct text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    t->used += (size_t)vsnprintf(t->to + t->used, TEXT_BYTES - t->used, format, args);
    va_end(args);
}

/* A stack of the app's functions below those of its loop, and branches at its end. */
static void add_tree(struct query_load *l, struct text *t, unsigned number) {
    static const char *const outer[] = {"main", "run_loop", "dispatch_event", "handle_request"};
    const unsigned app = l->bug[number].app, depth = FRAMES_MIN + below(l, FRAMES_MORE);
    add(t, "\"samples\":{\"tree\":{\"frames\":[");
    for (unsigned i = 0; i < depth; i++) {
        char name[64];
        if (i < 4) {
            snprintf(name, sizeof name, "%s", outer[i]);
        } else if (i < depth - 3) {
            snprintf(name, sizeof name, "app%u::layer_%u::step_%u", app, i, number % (i * 3));
        } else {
            snprintf(name, sizeof name, "app%u::bug_%u::part_%u", app, number, i);
        }
        add(t, "%s{\"pc\":\"0x%x\",\"module\":0,\"function\":\"%s\",\"file\":\"/src/l%u.cc\",\"line\":%u}",
            i > 0 ? "," : "", 0x1000 + i * 16, name, i, i + 7);
    }
    add(t, "],\"nodes\":[");
    for (unsigned i = 0; i < depth; i++) {
        add(t, "%s{\"parent\":%d,\"frame\":%u,\"time_ns\":%u,\"samples\":%u}", i > 0 ? "," : "",
            i < depth - 2 ? (int)i - 1 : (int)depth - 4, i, i < depth - 2 ? 900000000 : 300000000, 20);
    }
    add(t, "]}}");
}

static int make_bug(struct query_load *l, unsigned number) {
    static const char *const causes[] = {"cpu", "lock", "disk", "network", "sleep", "unknown"};
    struct bug *b = &l->bug[number];
    struct row *r = &b->row;
    struct text *t = calloc(1, sizeof *t);
    uint8_t hash[SHA256_BYTES];
    b->app = below(l, QUERY_APPS);
    b->first_version = number % 4 == 0 ? below(l, QUERY_VERSIONS) : 0;
    if (t == NULL) {
        return -1;
    }
    snprintf(r->app, sizeof r->app, "app-%02u", b->app);
    snprintf(r->cause, sizeof r->cause, "%s", causes[below(l, 6)]);
    snprintf(r->group.function, sizeof r->group.function, "app%u::bug_%u::part", b->app, number);
    snprintf(r->group.place, sizeof r->group.place, "bug_%u.cc:%u", number, number % 900 + 1);
    snprintf(r->group.path, sizeof r->group.path,
             "rule 1\napp %s\ncause %s\nown %s\nown app%u::layer_5::step_%u", r->app, r->cause,
             r->group.function, b->app, number % 15);
    sha256(r->group.path, strlen(r->group.path), hash);
    sha256_hex(hash, GROUPING_HEX / 2, r->group.fingerprint);
    snprintf(r->own_fingerprint, sizeof r->own_fingerprint, "%s", r->group.fingerprint);
    add(t,
        "{\"format\":\"hangdog-report/1\",\"kind\":\"hang\",\"duration_ns\":900000000,\"app\":{\"name\":\"%s\"},"
        "\"modules\":[{\"path\":\"/opt/%s/%s\",\"base\":\"0x0\",\"size\":1048576}],",
        r->app, r->app, r->app);
    add_tree(l, t, number);
    add(t, "}");
    r->body = malloc(ZSTD_compressBound(t->used));
    if (r->body != NULL) {
        r->body_bytes = ZSTD_compress(r->body, ZSTD_compressBound(t->used), t->to, t->used, LEVEL);
    }
    free(t);
    return r->body != NULL && !ZSTD_isError(r->body_bytes) ? 0 : -1;
}

struct query_load *query_load_new(uint64_t seed, uint64_t all) {
    struct query_load *l = calloc(1, sizeof *l);
    double sum = 0;
    if (l == NULL) {
        return NULL;
    }
    l->random = seed * 2 + 88172645463325253;
    l->all = all;
    l->start_ms = ((int64_t)time(NULL) - 60) * 1000 - QUERY_DAYS * DAY_MS;
    for (unsigned i = 0; i < QUERY_BUGS; i++) {
        sum += 1 / pow(i + 1, EXPONENT);
        l->sum[i] = sum;
        if (make_bug(l, i) != 0) {
            query_load_free(l);
            return NULL;
        }
    }
    return l;
}

void query_load_free(struct query_load *l) {
    for (unsigned i = 0; i < QUERY_BUGS; i++) {
        row_free(&l->bug[i].row);
    }
    free(l);
}

const struct row *query_load_bug(const struct query_load *l, unsigned bug) {
    return &l->bug[bug].row;
}

const char *const query_load_kinds[] = {"hang", "fatal-hang", "session", "cpu", "crash"};
enum {
    HANG,
    FATAL,
    SESSION,
    CPU,
    CRASH
};

const char *query_load_app(unsigned app, char out[32]) {
    snprintf(out, 32, "app-%02u", app);
    return out;
}

const char *query_load_version(unsigned version, char out[32]) {
    snprintf(out, 32, "%u.%u", 1 + version / 10, version % 10);
    return out;
}

const char *query_load_system(unsigned system, char out[160]) {
    snprintf(out, 160, "Linux distribution %u, %s", system / 2, system % 2 == 0 ? "x86_64" : "aarch64");
    return out;
}

const char *query_load_user(unsigned user, char out[64]) {
    snprintf(out, 64, "%08x-0000-4000-8000-000000000000", user);
    return out;
}

static unsigned choose_bug(struct query_load *l) {
    double at = unit(l) * l->sum[QUERY_BUGS - 1];
    unsigned low = 0, high = QUERY_BUGS - 1;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (l->sum[middle] < at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* One of ten is a session; one of 25 is no hang. */
static unsigned choose_kind(struct query_load *l) {
    unsigned chance = below(l, 100);
    return chance < 10 ? SESSION : chance < 12 ? CPU : chance < 14 ? CRASH : chance < 16 ? FATAL : HANG;
}

/* Most use the newest version, some are late with it. */
static unsigned choose_version(struct query_load *l, const struct bug *b) {
    double newest = (double)l->made / (double)l->all * QUERY_VERSIONS;
    double late = -log(1 - unit(l)) * 2.5;
    unsigned version = newest > late ? (unsigned)(newest - late) : 0;
    return version < b->first_version ? b->first_version : version;
}

void query_load_next(struct query_load *l, struct row *out, struct query_choice *choice) {
    choice->bug = choose_bug(l);
    const struct bug *b = &l->bug[choice->bug];
    *choice = (struct query_choice){.app = b->app,
                                    .bug = choice->bug,
                                    .version = choose_version(l, b),
                                    .system = below(l, 12) * 2 + (below(l, 5) == 0),
                                    .kind = choose_kind(l),
                                    .user = below(l, QUERY_USERS)};
    *out = b->row;
    out->outcome = ROW_PENDING;
    out->started_ms = l->start_ms + (int64_t)((double)l->made / (double)l->all * QUERY_DAYS * (double)DAY_MS);
    query_load_version(choice->version, out->version);
    query_load_system(choice->system, out->system);
    query_load_user(choice->user, out->who);
    snprintf(out->kind, sizeof out->kind, "%s", query_load_kinds[choice->kind]);
    snprintf(out->id, sizeof out->id, "%08x-%04x-7%03x-8%03x-%04x%08x",
             (unsigned)((uint64_t)out->started_ms >> 16), (unsigned)(out->started_ms & 0xffff),
             below(l, 4096), below(l, 4096), (unsigned)(l->made >> 32) & 0xffff, (unsigned)l->made);
    snprintf(out->session, sizeof out->session, "%s", out->id);
    out->duration_ms = (int64_t)(250 + exp(unit(l) * 6) * 30);
    out->is_session = choice->kind == SESSION;
    out->is_hang = choice->kind <= FATAL;
    out->grouped = out->is_hang; /* the others have groups, too; here they are in lists only */
    out->used_ms = out->is_session ? 60000 + below(l, 7200000) : 0;
    out->hang_free = out->is_session && below(l, 10) > 0;
    l->made++;
}
