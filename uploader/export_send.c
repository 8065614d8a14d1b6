/* SPDX-License-Identifier: MIT */
#include "uploader/export_send.h"

#include <ctype.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/deep_stack.h"
#include "cli/base/memory_limit.h"
#include "cli/base/options.h"
#include "cli/base/sanitize.h"
#include "cli/commands.h"
#include "cli/export/otlp.h"
#include "cli/export/select.h"
#include "cli/export/sentry.h"
#include "hangdog/hangdog.h"
#include "uploader/send.h"

/* ---- headers of OpenTelemetry ---------------------------------------------------------------- */

static int digit(char c) {
    return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* False: it has a character that would end the header's line. */
static bool decode(const char *text, size_t n, char *out) {
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (c == '%' && i + 2 < n && isxdigit((unsigned char)text[i + 1]) &&
            isxdigit((unsigned char)text[i + 2])) {
            c = (char)(digit(text[i + 1]) << 4 | digit(text[i + 2]));
            i += 2;
        }
        if (iscntrl((unsigned char)c)) {
            return false;
        }
        *out++ = c;
    }
    *out = '\0';
    return true;
}

static bool is_name(const char *text, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)text[i]) && strchr("-_.", text[i]) == NULL) {
            return false;
        }
    }
    return n > 0;
}

void export_send_read_headers(const char *text, struct otlp_headers *out) {
    out->count = 0;
    while (text != NULL && *text != '\0' && out->count < OTLP_HEADERS_MAX) {
        text += strspn(text, " ,");
        size_t all = strcspn(text, ","), name = strcspn(text, "=,");
        char *line = out->line[out->count];
        if (name < all && all < OTLP_HEADER_BYTES - 2 && is_name(text, name) &&
            decode(text + name + 1, all - name - 1, line + name + 2)) {
            memcpy(line, text, name);
            line[name] = ':';
            line[name + 1] = ' ';
            out->count++;
        }
        text += all;
    }
}

/* ---- the address of a project of Sentry ------------------------------------------------------ */

/* The key goes into a line of the request, and the rest into its address. */
static bool all_are(const char *text, size_t n, bool allowed(char c)) {
    for (size_t i = 0; i < n; i++) {
        if (!allowed(text[i])) {
            return false;
        }
    }
    return n > 0;
}

static bool is_of_key(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static bool is_of_address(char c) {
    return isgraph((unsigned char)c) && strchr("@?#\"<>\\", c) == NULL;
}

bool export_send_parse_dsn(const char *dsn, struct sentry_dsn *out) {
    const char *scheme_end = strstr(dsn, "://"), *start = scheme_end != NULL ? scheme_end + 3 : dsn;
    const char *at = strchr(start, '@'), *end = dsn + strlen(dsn);
    if (scheme_end == NULL || at == NULL) {
        return false;
    }
    size_t scheme = (size_t)(scheme_end - dsn), key = strcspn(start, ":@"); /* a secret may follow the key */
    while (end > at && end[-1] == '/') {
        end--;
    }
    const char *project = end;
    while (project > at + 1 && project[-1] != '/') {
        project--;
    }
    size_t host = (size_t)(project - at - 1);
    if ((strncmp(dsn, "http:", 5) != 0 && strncmp(dsn, "https:", 6) != 0) || key >= sizeof out->key ||
        host < 2 || !all_are(start, key, is_of_key) || !all_are(at + 1, host, is_of_address) ||
        !all_are(project, (size_t)(end - project), is_of_key)) {
        return false;
    }
    snprintf(out->key, sizeof out->key, "%.*s", (int)key, start);
    return (size_t)snprintf(out->address, sizeof out->address, "%.*s://%.*sapi/%.*s/envelope/", (int)scheme,
                            dsn, (int)host, at + 1, (int)(end - project), project) < sizeof out->address;
}

#define OTLP_PATH "/v1/logs"
#define OTLP_REPORTS 50 /* of one request */
#define RETRIES 5

struct call {
    struct export_options options;
    const volatile sig_atomic_t *stop;
    char **named;
    int count, status;
    struct sender *sender;
    size_t sent;
};

/* ---- where to --------------------------------------------------------------------------------- */

static struct sender *open_sentry(const struct call *c, struct problem *why) {
    struct sentry_dsn dsn;
    char line[512];
    if (!export_send_parse_dsn(c->options.send, &dsn)) {
        error_set(why, "cannot send: want a DSN, as https://KEY@HOST/PROJECT");
        return NULL;
    }
    snprintf(line, sizeof line,
             "X-Sentry-Auth: Sentry sentry_key=%s, sentry_version=7, sentry_client=hangdog/" HANGDOG_VERSION,
             dsn.key);
    const struct send_target target = {.address = dsn.address,
                                       .header = {line, "Content-Type: application/x-sentry-envelope"}};
    return send_open(&target, c->options.ca, c->stop, why);
}

static struct sender *open_otlp(const struct call *c, struct problem *why) {
    const char *url = c->options.send;
    size_t length = strlen(url), path = strlen(OTLP_PATH);
    char address[2048];
    if (!send_is_url(url)) {
        error_set(why, "cannot send to '%.200s': want http://HOST:4318 or https://HOST", url);
        return NULL;
    }
    while (length > 0 && url[length - 1] == '/') {
        length--;
    }
    bool whole = length > path && strncmp(url + length - path, OTLP_PATH, path) == 0;
    snprintf(address, sizeof address, "%.*s%s", (int)length, url, whole ? "" : OTLP_PATH);
    struct otlp_headers more;
    export_send_read_headers(getenv("OTEL_EXPORTER_OTLP_HEADERS"), &more);
    struct send_target target = {.address = address, .header = {"Content-Type: application/json"}};
    for (size_t i = 0; i < more.count; i++) {
        target.header[i + 1] = more.line[i];
    }
    return send_open(&target, c->options.ca, c->stop, why);
}

/* ---- what ------------------------------------------------------------------------------------- */

/* False, and an error is printed. */
static bool is_taken(const struct send_result *result) {
    if (result->status == 0) {
        print_error("cannot send: %s", result->error);
    } else if (result->status < 200 || result->status > 299) {
        char text[301];
        snprintf(text, sizeof text, "%.300s", result->answer);
        sanitize_text(text);
        print_error("cannot send: the answer is %ld%s%s", result->status, text[0] != '\0' ? ", " : "", text);
    } else {
        return true;
    }
    return false;
}

static bool send_sentry(struct call *c, const json_t *reports) {
    const json_t *report;
    size_t i;
    json_array_foreach(reports, i, report) {
        char *envelope = export_sentry_envelope(report, c->options.send);
        if (envelope == NULL) {
            print_error("cannot send: out of memory");
            return false;
        }
        struct send_result result = send_until(c->sender, envelope, strlen(envelope), c->options.retries);
        free(envelope);
        if (!is_taken(&result)) {
            return false;
        }
        c->sent++;
        if (result.retry_after_s > 0 && i + 1 < json_array_size(reports)) {
            send_wait(c->sender, result.retry_after_s);
        }
    }
    return true;
}

/* A collector may take a part of a request only, and says so. */
static bool is_whole(const struct send_result *result, size_t *refused) {
    json_t *answer = json_loads(result->answer, 0, NULL);
    const json_t *partial = json_object_get(answer, "partialSuccess");
    const json_t *rejected = json_object_get(partial, "rejectedLogRecords");
    const char *why = json_string_value(json_object_get(partial, "errorMessage"));
    long long count =
        json_is_string(rejected) ? atoll(json_string_value(rejected)) : json_integer_value(rejected);
    *refused = count > 0 ? (size_t)count : 0;
    if (count > 0) {
        print_error("the collector refuses %lld report%s: %.200s", count, cli_plural(count, "", "s"),
                    why != NULL ? why : "");
    }
    json_decref(answer);
    return count <= 0;
}

static bool send_otlp(struct call *c, const json_t *reports) {
    bool well = true;
    for (size_t first = 0; first < json_array_size(reports); first += OTLP_REPORTS) {
        json_t *some = json_array();
        for (size_t i = first; i < first + OTLP_REPORTS && i < json_array_size(reports); i++) {
            json_array_append(some, json_array_get(reports, i));
        }
        size_t count = json_array_size(some), refused = 0;
        json_t *request = export_otlp_request(some);
        char *body = request != NULL ? json_dumps(request, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
        json_decref(request);
        json_decref(some);
        if (body == NULL) {
            print_error("cannot send: out of memory");
            return false;
        }
        struct send_result result = send_until(c->sender, body, strlen(body), c->options.retries);
        free(body);
        if (!is_taken(&result)) {
            return false;
        }
        well = is_whole(&result, &refused) && well;
        c->sent += count > refused ? count - refused : 0;
    }
    return well;
}

static void send_reports(void *call) {
    struct call *c = call;
    struct problem why;
    bool sentry = strcmp(c->options.format, "sentry") == 0;
    c->sender = sentry ? open_sentry(c, &why) : open_otlp(c, &why);
    if (c->sender == NULL) {
        c->status = error_print(&why);
        return;
    }
    memory_keep_to_room();
    json_t *reports = export_select(&c->options, c->named, c->count, &c->status);
    if (reports != NULL) {
        bool well = sentry ? send_sentry(c, reports) : send_otlp(c, reports);
        c->status = well ? c->status : EXIT_ERROR;
        if (!options_quiet()) {
            fprintf(stderr, "hangdog: %zu report%s sent\n", c->sent, cli_plural((int64_t)c->sent, "", "s"));
        }
    }
    json_decref(reports);
    send_close(c->sender);
}

int export_send_main(int argc, char **argv, const volatile sig_atomic_t *stop) {
    struct call call = {.options = {.retries = RETRIES}, .stop = stop};
    int first = options_parse(&command_export, &call.options, argc, argv, &call.status);
    if (first < 0) {
        return call.status;
    }
    if (!export_can_send(&call.options)) {
        return export_refuse_send();
    }
    call.named = argv + first;
    call.count = argc - first;
    on_a_deep_stack(send_reports, &call);
    return call.status;
}
