/* SPDX-License-Identifier: MIT
 *
 * A profile of pprof: a protocol buffer (profile.proto), compressed by gzip. Values are samples and
 * nanoseconds; a sample's labels are its app, thread and report.
 */
#include "cli/export/formats.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "cli/export/intern.h"
#include "cli/export/protobuf.h"
#include "cli/export/stacks.h"
#include "cli/reader/frame_origin.h"
#include "cli/reader/groups.h"
#include "cli/reader/report_load.h"

enum {
    WITH_GZIP_HEADER = 16 + MAX_WBITS,
    MEMORY = 8
};

/* 0, or -1 with errno: no memory, or `out` cannot be written. */
static int gzip_write(FILE *out, const void *data, size_t bytes) {
    z_stream z = {0};
    if (bytes > UINT_MAX || deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WITH_GZIP_HEADER, MEMORY,
                                         Z_DEFAULT_STRATEGY) != Z_OK) {
        errno = ENOMEM;
        return -1;
    }
    size_t room = deflateBound(&z, (uLong)bytes);
    void *packed = malloc(room);
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)bytes;
    z.next_out = packed;
    z.avail_out = (uInt)room;
    bool well = packed != NULL && deflate(&z, Z_FINISH) == Z_STREAM_END;
    errno = well ? errno : ENOMEM;
    well = well && fwrite(packed, 1, z.total_out, out) == z.total_out;
    deflateEnd(&z);
    free(packed);
    return well ? 0 : -1;
}

/* Numbers of profile.proto. */
enum {
    SAMPLE_TYPE = 1,
    SAMPLE,
    MAPPING,
    LOCATION,
    FUNCTION,
    STRING_TABLE,
    TIME = 9,
    DURATION,
    PERIOD_TYPE,
    PERIOD
};
enum {
    TYPE_TYPE = 1,
    TYPE_UNIT
};
enum {
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE,
    SAMPLE_LABEL
};
enum {
    LABEL_KEY = 1,
    LABEL_STRING,
    LABEL_NUMBER
};
enum {
    MAPPING_ID = 1,
    MAPPING_START,
    MAPPING_LIMIT,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID,
    MAPPING_HAS_FUNCTIONS
};
enum {
    LOCATION_ID = 1,
    LOCATION_MAPPING,
    LOCATION_ADDRESS,
    LOCATION_LINE
};
enum {
    LINE_FUNCTION = 1,
    LINE_LINE
};
enum {
    FUNCTION_ID = 1,
    FUNCTION_NAME,
    FUNCTION_SYSTEM_NAME,
    FUNCTION_FILE
};

enum {
    TABLES = 4
};

struct profile {
    struct protobuf out;
    struct export_intern strings, functions, locations, mappings; /* an id is its number + 1 */
    bool failed;
};

static uint64_t string_number(struct profile *p, const char *text) {
    bool added;
    return export_intern(&p->strings, text, &added);
}

/* The id of a key that is made here; -1 in *added: no memory. */
static uint64_t number_of(struct profile *p, struct export_intern *table, char *key, bool *added) {
    uint64_t id = 0;
    *added = false;
    if (key != NULL) {
        id = export_intern(table, key, added) + 1;
    } else {
        p->failed = true;
    }
    free(key);
    return id;
}

static uint64_t add_mapping(struct profile *p, const json_t *module) {
    char *key = NULL;
    bool added;
    const char *path = report_text(module, "path"), *build_id = report_text(module, "build_id");
    uint64_t base = export_address(module, "base");
    if (module == NULL) {
        return 0;
    }
    if (asprintf(&key, "%s\n%s\n%" PRIx64, path, build_id, base) < 0) {
        key = NULL;
    }
    uint64_t id = number_of(p, &p->mappings, key, &added);
    if (added) {
        struct protobuf m = {0};
        protobuf_put_uint(&m, MAPPING_ID, id);
        protobuf_put_uint(&m, MAPPING_START, base);
        protobuf_put_uint(&m, MAPPING_LIMIT, base + (uint64_t)export_number(module, "size"));
        protobuf_put_uint(&m, MAPPING_FILE, string_number(p, path));
        protobuf_put_uint(&m, MAPPING_BUILD_ID, string_number(p, build_id));
        protobuf_put_uint(&m, MAPPING_HAS_FUNCTIONS, 1);
        protobuf_put_message(&p->out, MAPPING, &m);
    }
    return id;
}

static uint64_t add_function(struct profile *p, const char *name, const char *file) {
    char *key = NULL;
    bool added;
    if (asprintf(&key, "%s\n%s", name, file) < 0) {
        key = NULL;
    }
    uint64_t id = number_of(p, &p->functions, key, &added);
    if (added) {
        struct protobuf f = {0};
        protobuf_put_uint(&f, FUNCTION_ID, id);
        protobuf_put_uint(&f, FUNCTION_NAME, string_number(p, name));
        protobuf_put_uint(&f, FUNCTION_SYSTEM_NAME, string_number(p, name));
        protobuf_put_uint(&f, FUNCTION_FILE, string_number(p, file));
        protobuf_put_message(&p->out, FUNCTION, &f);
    }
    return id;
}

/* A location for each frame, also for an inlined one: it has a name of its own. */
static uint64_t add_location(struct profile *p, const json_t *report, const json_t *frame) {
    uint64_t mapping = add_mapping(p, report_frame_module(report, frame)), pc = export_address(frame, "pc");
    char *name = export_frame_name(report, frame), *key = NULL;
    bool added;
    uint64_t function = add_function(p, name != NULL ? name : "?", report_text(frame, "file"));
    uint64_t line = (uint64_t)export_number(frame, "line");
    free(name);
    if (asprintf(&key, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIx64, mapping, function, line, pc) < 0) {
        key = NULL;
    }
    uint64_t id = number_of(p, &p->locations, key, &added);
    if (added) {
        struct protobuf l = {0}, one = {0};
        protobuf_put_uint(&one, LINE_FUNCTION, function);
        protobuf_put_uint(&one, LINE_LINE, line);
        protobuf_put_uint(&l, LOCATION_ID, id);
        protobuf_put_uint(&l, LOCATION_MAPPING, mapping);
        protobuf_put_uint(&l, LOCATION_ADDRESS, pc);
        protobuf_put_message(&l, LOCATION_LINE, &one);
        protobuf_put_message(&p->out, LOCATION, &l);
    }
    return id;
}

static void put_label(struct profile *p, struct protobuf *sample, const char *key, const char *text) {
    struct protobuf label = {0};
    protobuf_put_uint(&label, LABEL_KEY, string_number(p, key));
    protobuf_put_uint(&label, LABEL_STRING, string_number(p, text));
    protobuf_put_message(sample, SAMPLE_LABEL, &label);
}

static void add_sample(struct profile *p, const json_t *report, const struct export_thread *thread,
                       const struct export_stack *s) {
    struct protobuf sample = {0}, locations = {0}, values = {0}, tid = {0};
    char *label = export_thread_label(thread);
    for (size_t i = 0; i < s->count; i++) {
        protobuf_put_packed(&locations, add_location(p, report, s->frame[i]));
    }
    if (s->count == 0) {
        protobuf_put_packed(&locations, add_location(p, report, NULL));
    }
    protobuf_put_packed(&values, 1);
    protobuf_put_packed(&values, (uint64_t)s->ns);
    protobuf_put_message(&sample, SAMPLE_LOCATION, &locations);
    protobuf_put_message(&sample, SAMPLE_VALUE, &values);
    put_label(p, &sample, "thread", label != NULL ? label : "");
    put_label(p, &sample, "app", report_text(json_object_get(report, "app"), "name"));
    put_label(p, &sample, "report", report_text(report, "id"));
    protobuf_put_uint(&tid, LABEL_KEY, string_number(p, "tid"));
    protobuf_put_uint(&tid, LABEL_NUMBER, (uint64_t)thread->tid);
    protobuf_put_message(&sample, SAMPLE_LABEL, &tid);
    protobuf_put_message(&p->out, SAMPLE, &sample);
    p->failed |= label == NULL;
    free(label);
}

static void put_type(struct profile *p, unsigned member, const char *type, const char *unit) {
    struct protobuf t = {0};
    protobuf_put_uint(&t, TYPE_TYPE, string_number(p, type));
    protobuf_put_uint(&t, TYPE_UNIT, string_number(p, unit));
    protobuf_put_message(&p->out, member, &t);
}

static void add_report(struct profile *p, const json_t *report) {
    struct export_threads threads;
    p->failed |= !export_threads_read(report, &threads);
    for (size_t i = 0; !p->failed && i < threads.count; i++) {
        for (size_t k = 0; k < threads.thread[i].count; k++) {
            add_sample(p, report, &threads.thread[i], &threads.thread[i].stack[k]);
        }
    }
    export_threads_free(&threads);
}

static void add_all(struct profile *p, const json_t *reports) {
    const json_t *report, *first = json_array_get(reports, 0);
    int64_t duration = 0;
    const char *text;
    json_t *number;
    size_t i;
    string_number(p, "");
    put_type(p, SAMPLE_TYPE, "samples", "count");
    put_type(p, SAMPLE_TYPE, "hang", "nanoseconds"); /* the last one is what pprof shows */
    json_array_foreach(reports, i, report) {
        add_report(p, report);
        duration = groups_add_times(duration, export_number(report, "duration_ns"));
    }
    put_type(p, PERIOD_TYPE, "hang", "nanoseconds");
    protobuf_put_uint(&p->out, TIME, (uint64_t)export_started_ns(first));
    protobuf_put_uint(&p->out, DURATION, (uint64_t)duration);
    protobuf_put_uint(&p->out, PERIOD,
                      (uint64_t)export_number(json_object_get(first, "samples"), "interval_ns"));
    json_object_foreach(p->strings.index, text, number) { /* the strings are in the order of their numbers */
        protobuf_put_bytes(&p->out, STRING_TABLE, text, strlen(text));
    }
}

int export_pprof(FILE *out, const json_t *reports) {
    struct profile p = {0};
    struct export_intern *const tables[TABLES] = {&p.strings, &p.functions, &p.locations, &p.mappings};
    for (size_t i = 0; i < TABLES; i++) {
        p.failed |= !export_intern_init(tables[i]);
    }
    if (!p.failed) {
        add_all(&p, reports);
    }
    errno = ENOMEM;
    int result = p.failed || p.out.failed ? -1 : gzip_write(out, p.out.data, p.out.bytes);
    for (size_t i = 0; i < TABLES; i++) {
        export_intern_free(tables[i]);
    }
    protobuf_free(&p.out);
    return result;
}
