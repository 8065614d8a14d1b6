/* SPDX-License-Identifier: MIT */
#include "collector/sentry/sentry_report.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/base/json_text.h"
#include "collector/report/kind.h"
#include "collector/report/sha256.h"
#include "collector/sentry/sentry_hang.h"
#include "collector/sentry/sentry_stack.h"

#define NS_PER_S 1000000000.0
#define THREADS_MAX 64
#define THREAD_FRAMES_MAX 4096 /* of all threads; the others have no stack */
#define TEXT_MAX 1000
#define UUID_BYTES 37
#define WHO_BYTES 8

/* At most TEXT_MAX bytes, cut at a whole character. */
static json_t *short_text(const char *text) {
    size_t n = strlen(text);
    if (n > TEXT_MAX) {
        n = TEXT_MAX;
        while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) {
            n--;
        }
    }
    return json_stringn(text, n);
}

static void set_text(json_t *to, const char *name, const char *text) {
    if (text[0] != '\0') {
        json_object_set_new(to, name, short_text(text));
    }
}

/* "a37ef958..." or with dashes, as a UUID of lower case; "" for another text. */
static void uuid_of(const char *text, char out[UUID_BYTES]) {
    size_t digits = 0, n = 0;
    for (; *text != '\0' && digits < 32; text++) {
        if (*text == '-') {
            continue;
        }
        if (!isxdigit((unsigned char)*text)) {
            break;
        }
        if (digits == 8 || digits == 12 || digits == 16 || digits == 20) {
            out[n++] = '-';
        }
        out[n++] = (char)tolower((unsigned char)*text);
        digits++;
    }
    out[digits == 32 ? n : 0] = '\0';
}

/* Seconds since 1970, as a number or a text of RFC 3339 in UTC; 0: neither. */
static double moment_of(const json_t *value) {
    struct tm tm = {0};
    double fraction = 0;
    const char *text = json_string_value(value);
    if (text == NULL) {
        return json_number_value(value);
    }
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    if (end == NULL) {
        return 0;
    }
    for (double part = 0.1; *end == '.' || isdigit((unsigned char)*end); end++) {
        if (*end != '.') {
            fraction += part * (*end - '0');
            part /= 10;
        }
    }
    return (double)timegm(&tm) + fraction;
}

static json_t *moment_text(double seconds) {
    char text[64];
    struct tm tm;
    if (!(seconds > 0 && seconds < 253402300799.0)) { /* the end of the year 9999 */
        seconds = (double)time(NULL);
    }
    time_t whole = (time_t)seconds;
    if (gmtime_r(&whole, &tm) == NULL) {
        return json_null();
    }
    size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text + n, sizeof text - n, ".%06dZ", (int)((seconds - (double)whole) * 1e6));
    return json_string(text);
}

/* "shop@1.2": name and version. A release without a name is a version. */
static json_t *app_of(const json_t *event, const char *release, const char *project) {
    json_t *app = json_object();
    const char *at = strrchr(release, '@'), *version = at != NULL ? at + 1 : release;
    const char *name = json_text(json_object_get(json_object_get(event, "contexts"), "app"), "app_name");
    if (at != NULL && at != release) {
        json_object_set_new(app, "name", json_stringn(release, (size_t)(at - release)));
    } else if (name[0] != '\0') {
        json_object_set_new(app, "name", short_text(name));
    } else {
        json_object_set_new(app, "name", json_sprintf("project %s", project));
    }
    json_object_set_new(app, "pid", json_integer(0)); /* Sentry's form has none */
    set_text(app, "version", version);
    return app;
}

/* Users are counted, not known: what the client says of one is hashed. An id may be a number. */
static void set_user(json_t *app, const json_t *event) {
    static const char *const names[] = {"id", "email", "username", "ip_address"};
    const json_t *user = json_object_get(event, "user"), *id = json_object_get(user, "id");
    uint8_t hash[SHA256_BYTES];
    char number[24], hex[2 * WHO_BYTES + 1];
    snprintf(number, sizeof number, "%lld", (long long)json_integer_value(id));
    const char *text = json_is_integer(id) ? number : "";
    for (size_t i = 0; text[0] == '\0' && i < sizeof names / sizeof names[0]; i++) {
        text = json_text(user, names[i]);
    }
    if (text[0] != '\0') {
        sha256(text, strlen(text), hash);
        sha256_hex(hash, WHO_BYTES, hex);
        json_object_set_new(app, "install", json_string(hex));
    }
}

static const char *word_of(const char *text, const char *const words[][2], size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, words[i][0]) == 0) {
            return words[i][1];
        }
    }
    return "unknown";
}

static json_t *host_of(const json_t *event) {
    static const char *const systems[][2] = {{"macOS", "macos"},  {"Mac OS X", "macos"}, {"iOS", "ios"},
                                             {"iPadOS", "ios"},   {"Linux", "linux"},    {"Android", "linux"},
                                             {"Debian", "linux"}, {"Ubuntu", "linux"},   {"Fedora", "linux"}};
    static const char *const archs[][2] = {{"x64", "x86_64"},      {"x86_64", "x86_64"},
                                           {"amd64", "x86_64"},    {"arm64", "aarch64"},
                                           {"aarch64", "aarch64"}, {"arm64e", "aarch64"}};
    const json_t *contexts = json_object_get(event, "contexts"), *os = json_object_get(contexts, "os");
    const char *name = json_text(os, "name"), *version = json_text(os, "version");
    json_t *host = json_object();
    json_object_set_new(host, "os", json_string(word_of(name, systems, sizeof systems / sizeof systems[0])));
    json_object_set_new(host, "arch",
                        json_string(word_of(json_text(json_object_get(contexts, "device"), "arch"), archs,
                                            sizeof archs / sizeof archs[0])));
    if (name[0] != '\0') { /* node's version of Debian ends with a new line */
        json_object_set_new(host, "os_version",
                            json_sprintf("%.60s%s%.*s", name, version[0] != '\0' ? " " : "",
                                         (int)strcspn(version, "\n"), version));
    }
    set_text(host, "kernel", json_text(os, "kernel_version"));
    return host;
}

/* The exception that was thrown last is the last one; those before it are its causes. */
static const json_t *exception_of(const json_t *event) {
    const json_t *values = json_object_get(event, "exception");
    values = json_is_object(values) ? json_object_get(values, "values") : values;
    return json_array_get(values, json_array_size(values) - 1);
}

static const json_t *threads_of(const json_t *event) {
    const json_t *values = json_object_get(event, "threads");
    return json_is_object(values) ? json_object_get(values, "values") : values;
}

/* Of the thread that crashed, hung, or sent the event. */
static const json_t *stack_of(const json_t *event, const json_t *exception) {
    static const char *const members[] = {"crashed", "current", "main"};
    const json_t *stack = json_object_get(exception, "stacktrace"), *thread;
    size_t k;
    if (json_array_size(json_object_get(stack, "frames")) > 0) {
        return stack;
    }
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        json_array_foreach(threads_of(event), k, thread) {
            if (json_is_true(json_object_get(thread, members[i])) &&
                json_object_get(thread, "stacktrace") != NULL) {
                return json_object_get(thread, "stacktrace");
            }
        }
    }
    return json_object_get(event, "stacktrace");
}

static json_int_t tid_of(const json_t *value) {
    const char *text = json_string_value(value);
    long long tid = 0;
    return text == NULL ? json_integer_value(value) : sscanf(text, "%18lld", &tid) == 1 ? tid : 0;
}

static json_t *threads_as_ours(const json_t *event, const struct sentry_images *images) {
    json_t *threads = json_array();
    const json_t *from;
    size_t i, count = 0;
    json_array_foreach(threads_of(event), i, from) {
        if (i == THREADS_MAX) {
            break;
        }
        json_t *thread = json_object();
        json_object_set_new(thread, "tid", json_integer(tid_of(json_object_get(from, "id"))));
        set_text(thread, "name", json_text(from, "name"));
        set_text(thread, "state", json_text(from, "state"));
        const json_t *stack = json_object_get(from, "stacktrace");
        if (stack != NULL && count < THREAD_FRAMES_MAX) {
            json_t *frames = sentry_stack_frames(event, images, stack);
            count += json_array_size(frames);
            json_object_set_new(thread, "stack", json_pack("{s:o}", "frames", frames));
        }
        json_array_append_new(threads, thread);
    }
    return threads;
}

/* Sets the exception, and the signal that ended the program. */
static void set_error(json_t *report, const json_t *exception) {
    const json_t *mechanism = json_object_get(exception, "mechanism");
    const json_t *handled = json_object_get(mechanism, "handled");
    const char *signal = json_text(json_object_get(json_object_get(mechanism, "meta"), "signal"), "name");
    const char *type = json_text(exception, "type"), *value = json_text(exception, "value");
    json_t *error = json_object();
    set_text(error, "type", type);
    set_text(error, "what", value);
    type = json_text(error, "type"); /* the shorter ones */
    value = json_text(error, "what");
    if (json_is_boolean(handled)) {
        json_object_set_new(error, "handled", json_boolean(json_is_true(handled)));
    }
    json_object_set_new(report, "error", error);
    json_object_set_new(
        report, "cause",
        json_pack("{s:s,s:o}", "kind", "unknown", "detail",
                  json_sprintf("%s%s%s", type, type[0] != '\0' && value[0] != '\0' ? ": " : "", value)));
    if (signal[0] != '\0') {
        json_object_set_new(report, "crash", json_pack("{s:o}", "signal", short_text(signal)));
    }
    json_object_set_new(report, "kind", json_string(signal[0] != '\0' ? "crash" : "error"));
}

static void set_hang(json_t *report, const json_t *event, const struct sentry_images *images,
                     const json_t *exception, const struct sentry_hang *hang) {
    json_t *loop =
        json_pack("{s:s,s:I}", "name", "main", "tid", tid_of(json_object_get(exception, "thread_id")));
    json_object_set_new(report, "kind", json_string(hang->is_fatal ? "fatal-hang" : "hang"));
    json_object_set_new(report, "loop", loop);
    json_object_set_new(report, "cause", json_pack("{s:s}", "kind", "unknown"));
    json_object_set_new(report, "threads", threads_as_ours(event, images));
}

/* The members that every report has. */
static json_t *start_report(const json_t *event, const char *id, const char *release, const char *project) {
    char uuid[UUID_BYTES];
    uuid_of(id, uuid);
    json_t *report = json_object();
    json_t *app = app_of(event, release, project);
    set_text(app, "environment", json_text(event, "environment"));
    set_user(app, event);
    json_object_set_new(report, "format", json_string("hangdog-report/1"));
    json_object_set_new(report, "id", json_string(uuid));
    json_object_set_new(report, "complete", json_true());
    json_object_set_new(report, "app", app);
    json_object_set_new(report, "host", host_of(event));
    json_object_set_new(report, "process", json_object());
    return report;
}

json_t *sentry_report_of_event(const json_t *event, const char *project) {
    const json_t *exception = exception_of(event), *sdk = json_object_get(event, "sdk");
    struct sentry_hang hang = sentry_hang_of(exception);
    if (!hang.is_hang && json_text(exception, "type")[0] == '\0') {
        return NULL; /* a message */
    }
    struct sentry_images images;
    sentry_stack_images(event, &images);
    json_t *report = start_report(event, json_text(event, "event_id"), json_text(event, "release"), project);
    double at = moment_of(json_object_get(event, "timestamp"));
    json_object_set_new(report, "started_at", moment_text(at - (double)hang.duration_ns / NS_PER_S));
    json_object_set_new(report, "duration_ns", json_integer(hang.duration_ns));
    if (hang.is_hang) {
        set_hang(report, event, &images, exception, &hang);
    } else {
        set_error(report, exception);
    }
    json_object_set_new(
        report, "hot_stack",
        json_pack("{s:o}", "frames", sentry_stack_frames(event, &images, stack_of(event, exception))));
    json_object_set_new(report, "modules", sentry_stack_modules(event));
    json_object_set_new(report, "sdk",
                        json_sprintf("%.60s %.20s", json_text(sdk, "name"), json_text(sdk, "version")));
    return report;
}

json_t *sentry_report_of_session(const json_t *session, const char *project) {
    const json_t *attrs = json_object_get(session, "attrs"), *duration = json_object_get(session, "duration");
    const char *status = json_text(session, "status"), *id = json_text(session, "sid");
    if (strcmp(status, "ok") == 0 || status[0] == '\0') {
        return NULL;
    }
    double started = moment_of(json_object_get(session, "started"));
    double seconds = json_is_number(duration) ? json_number_value(duration)
                                              : moment_of(json_object_get(session, "timestamp")) - started;
    seconds = seconds > 0 && seconds < 1e8 ? seconds : 0;
    json_t *report = start_report(session, id, json_text(attrs, "release"), project);
    json_int_t ns = (json_int_t)(seconds * NS_PER_S);
    set_text(json_object_get(report, "app"), "session", json_text(report, "id"));
    set_text(json_object_get(report, "app"), "environment", json_text(attrs, "environment"));
    json_object_set_new(report, "kind", json_string("session"));
    json_object_set_new(report, "started_at", moment_text(started));
    json_object_set_new(report, "duration_ns", json_integer(ns));
    json_object_set_new(report, "session", json_pack("{s:I}", "used_ns", ns));
    return report;
}

static bool add_word(json_t *schema, const char *object, const char *member, const char *word) {
    json_t *at = json_object_get(schema, "properties");
    if (object != NULL) {
        at = json_object_get(json_object_get(at, object), "properties");
    }
    return json_array_append_new(json_object_get(json_object_get(at, member), "enum"), json_string(word)) ==
           0;
}

json_t *sentry_report_schema(const json_t *reports) {
    json_t *schema = json_deep_copy(reports);
    bool whole = schema != NULL && add_word(schema, "host", "os", "unknown") &&
                 add_word(schema, "host", "arch", "unknown");
    for (const char *const *kind = kind_foreign; whole && *kind != NULL; kind++) {
        whole = add_word(schema, NULL, "kind", *kind);
    }
    if (whole) {
        return schema;
    }
    json_decref(schema);
    return NULL;
}
