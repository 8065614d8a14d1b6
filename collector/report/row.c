/* SPDX-License-Identifier: MIT */
#include "collector/report/row.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zstd.h>

#include "cli/reader/report_version.h"
#include "collector/report/fast_parse.h"
#include "collector/report/kind.h"
#include "collector/report/schema_rule.h"

#define CONTAINER_ID_SHOWN 12
#define TEXT_BYTES_MAX ((size_t)64 << 20)
#define LEVEL 3
#define WRONG_CLOCK_S 600
#define LARGE_BYTES ((size_t)1 << 20)
#define LEVEL_OF_LARGE 1
#define DAY_MS (24 * INT64_C(3600000))
/* Sums of many must fit: what says that it hung for longer is no report. */
#define DURATION_MS_MAX (3660 * DAY_MS)

static bool wrong(struct schema_fault *fault, const char *at, const char *reason) {
    snprintf(fault->at, sizeof fault->at, "%s", at);
    snprintf(fault->reason, sizeof fault->reason, "%s", reason);
    return false;
}

/* Cut at a whole character where it is too long. `text` may be NULL. */
static void copy_bytes(char *to, size_t size, const char *text, size_t n) {
    if (n >= size) {
        n = size - 1;
        while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) {
            n--;
        }
    }
    if (n > 0) {
        memcpy(to, text, n);
    }
    to[n] = '\0';
}

static void copy_text(char *to, size_t size, const json_t *object, const char *name) {
    const char *text = json_string_value(json_object_get(object, name));
    copy_bytes(to, size, text, text != NULL ? strlen(text) : 0);
}

static bool is_uuid(const char *text) {
    static const char shape[] = "00000000-0000-0000-0000-000000000000";
    if (strlen(text) != sizeof shape - 1) {
        return false;
    }
    for (size_t i = 0; shape[i] != '\0'; i++) {
        bool digit = isdigit((unsigned char)text[i]) || (text[i] >= 'a' && text[i] <= 'f');
        if (shape[i] == '-' ? text[i] != '-' : !digit) {
            return false;
        }
    }
    return true;
}

/* Of an RFC 3339 time in UTC, which schema_fits has seen; -1: there is no such day. */
static int64_t moment_ms(const char *text) {
    struct tm tm = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    time_t seconds = end != NULL ? timegm(&tm) : -1;
    return seconds >= 0 ? (int64_t)seconds * 1000 : -1;
}

static bool set_times(const json_t *report, struct row *out, struct schema_fault *fault) {
    int64_t now = (int64_t)time(NULL) * 1000;
    json_int_t ns = json_integer_value(json_object_get(report, "duration_ns"));
    out->started_ms = moment_ms(json_string_value(json_object_get(report, "started_at")));
    out->duration_ms = ns / 1000000;
    const json_t *session = json_object_get(report, "session");
    out->used_ms = json_integer_value(json_object_get(session, "used_ns")) / 1000000;
    out->hang_free = session != NULL && json_integer_value(json_object_get(session, "hangs")) == 0;
    if (out->started_ms < 0) {
        return wrong(fault, "/started_at", "is no day since 1970");
    }
    if (out->started_ms > now + DAY_MS) { /* one of two clocks is wrong, and will be put right */
        fault->retry_s = WRONG_CLOCK_S;
        return wrong(fault, "/started_at", "is more than a day in the future");
    }
    if (out->duration_ms > DURATION_MS_MAX) {
        return wrong(fault, "/duration_ns", "is more than ten years");
    }
    if (out->used_ms < 0 || out->used_ms > DURATION_MS_MAX) {
        return wrong(fault, "/session/used_ns", "is less than nothing, or more than ten years");
    }
    return true;
}

const char *const row_origin_names[ORIGINS] = {"host", "unit", "container", "image"};

static void set_origin(const json_t *host, struct row *out) {
    const json_t *container = json_object_get(host, "container");
    copy_text(out->origin[ORIGIN_HOST], ROW_ORIGIN_BYTES, host, "name");
    copy_text(out->origin[ORIGIN_UNIT], ROW_ORIGIN_BYTES, host, "unit");
    copy_text(out->origin[ORIGIN_CONTAINER], ROW_ORIGIN_BYTES, container, "name");
    if (out->origin[ORIGIN_CONTAINER][0] == '\0') {
        copy_text(out->origin[ORIGIN_CONTAINER], CONTAINER_ID_SHOWN + 1, container, "id");
    }
    copy_text(out->origin[ORIGIN_IMAGE], ROW_ORIGIN_BYTES, container, "image");
}

static void set_texts(const json_t *report, struct row *out) {
    const json_t *app = json_object_get(report, "app"), *host = json_object_get(report, "host");
    char system[64], arch[16];
    copy_text(out->repeat_of, sizeof out->repeat_of, report, "repeat_of");
    copy_text(out->own_fingerprint, sizeof out->own_fingerprint, report, "fingerprint");
    copy_text(out->label, sizeof out->label, report, "label");
    copy_text(out->kind, sizeof out->kind, report, "kind");
    copy_text(out->cause, sizeof out->cause, json_object_get(report, "cause"), "kind");
    copy_text(out->app, sizeof out->app, app, "name");
    size_t version_bytes;
    const char *version = report_version(report, &version_bytes);
    copy_bytes(out->version, sizeof out->version, version, version_bytes);
    copy_text(out->session, sizeof out->session, app, "session");
    copy_text(out->who, sizeof out->who, app, "install");
    if (out->who[0] == '\0') {
        snprintf(out->who, sizeof out->who, "%s", out->session[0] != '\0' ? out->session : out->id);
    }
    copy_text(system, sizeof system, host, json_object_get(host, "os_version") != NULL ? "os_version" : "os");
    copy_text(arch, sizeof arch, host, "arch");
    snprintf(out->system, sizeof out->system, "%s, %s", system, arch);
    set_origin(host, out);
}

/* A compressor's tables take longer to make than to use for one report: each thread keeps its own. */
static pthread_key_t compressors;

static void free_compressor(void *compressor) {
    ZSTD_freeCCtx(compressor);
}

static void make_key(void) {
    pthread_key_create(&compressors, free_compressor);
}

static ZSTD_CCtx *compressor_of_thread(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_key);
    ZSTD_CCtx *compressor = pthread_getspecific(compressors);
    if (compressor == NULL) {
        compressor = ZSTD_createCCtx();
        pthread_setspecific(compressors, compressor);
    }
    return compressor;
}

static bool compress_body(const char *text, size_t bytes, struct row *out) {
    size_t size = ZSTD_compressBound(bytes);
    ZSTD_CCtx *compressor = compressor_of_thread();
    char *body = compressor != NULL ? malloc(size) : NULL;
    if (body == NULL) {
        return false;
    }
    int level = bytes > LARGE_BYTES ? LEVEL_OF_LARGE : LEVEL;
    out->body_bytes = ZSTD_compressCCtx(compressor, body, size, text, bytes, level);
    if (ZSTD_isError(out->body_bytes)) {
        free(body);
        return false;
    }
    /* The bound is larger than the text: without this, a batch would take several times its own size in
     * memory. */
    out->body = realloc(body, out->body_bytes);
    return out->body != NULL;
}

/* The report, which fits the schema; NULL: `fault` says why there is none. */
static json_t *parse(const char *text, size_t bytes, const json_t *schema, struct row *out,
                     struct schema_fault *fault) {
    const struct schema_rule *rule = schema_rule_of(schema);
    json_error_t error;
    json_t *report = rule != NULL ? fast_parse(rule, text, bytes) : NULL;
    if (report != NULL) {
        copy_text(out->id, sizeof out->id, report, "id");
        return report;
    }
    if (schema_is_too_much(text, bytes, fault)) {
        return NULL;
    }
    report = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (report == NULL) {
        snprintf(fault->reason, sizeof fault->reason, "is no JSON: %.150s (byte %d)", error.text,
                 error.position);
        return NULL;
    }
    copy_text(out->id, sizeof out->id, report, "id");
    if (schema_fits(schema, report, fault)) {
        return report;
    }
    json_decref(report);
    return NULL;
}

bool row_make(const char *text, size_t bytes, const json_t *schema, struct row *out,
              struct schema_fault *fault) {
    memset(out, 0, sizeof *out);
    json_t *report = parse(text, bytes, schema, out, fault);
    if (report == NULL) {
        return false;
    }
    bool fits = is_uuid(json_string_value(json_object_get(report, "id"))) ||
                wrong(fault, "/id", "is no UUID in lower case");
    fits = fits && set_times(report, out, fault);
    if (fits) {
        set_texts(report, out);
        out->is_session = strcmp(out->kind, "session") == 0;
        out->is_hang = kind_is_hang(out->kind);
        out->grouped = !out->is_session && strcmp(out->kind, "live") != 0;
        if (out->grouped) {
            grouping_of(report, &out->group);
            out->unnamed_count = unnamed_builds(report, out->unnamed);
        }
        fits = compress_body(text, bytes, out) || wrong(fault, "", "found no memory; send it again");
    }
    json_decref(report);
    return fits;
}

void row_free(struct row *row) {
    free(row->body);
    row->body = NULL;
}

bool row_text_size(const void *body, size_t bytes, size_t *text_bytes) {
    unsigned long long size = ZSTD_getFrameContentSize(body, bytes);
    *text_bytes = (size_t)size;
    return size != ZSTD_CONTENTSIZE_UNKNOWN && size != ZSTD_CONTENTSIZE_ERROR && size <= TEXT_BYTES_MAX;
}

char *row_text(const void *body, size_t bytes, size_t *text_bytes) {
    size_t size;
    if (!row_text_size(body, bytes, &size)) {
        return NULL;
    }
    char *text = malloc(size + 1);
    if (text == NULL || ZSTD_decompress(text, size, body, bytes) != size) {
        free(text);
        return NULL;
    }
    text[size] = '\0';
    *text_bytes = size;
    return text;
}
