/* SPDX-License-Identifier: MIT
 *
 * The last parts of a report: in which run and on which host it was, and what watching cost.
 */
#include "cli/base/shell_quote.h"
#include "cli/reader/report_version.h"
#include "cli/render/render_parts.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void put_app(const struct page *p, FILE *out) {
    const json_t *app = json_object_get(p->report, "app");
    char time[RENDER_TIME_BYTES];
    fputs(value_text(app, "name") != NULL ? value_text(app, "name") : "?", out);
    size_t bytes = 0;
    const char *version = report_version(p->report, &bytes);
    if (version != NULL) {
        bool is_build = version == value_text(app, "build_id");
        fprintf(out, "%s %.*s", is_build ? ", build" : "", (int)bytes, version);
    }
    fprintf(out, ", pid %" PRId64, value_int(app, "pid"));
    if (value_text(app, "started_at") != NULL) {
        fprintf(out, ", started %s", render_time(time, value_text(app, "started_at")));
    }
}

/* "macOS 14.5" says "macos", too. */
static bool version_says_system(const json_t *host) {
    const char *os = value_text(host, "os"), *version = value_text(host, "os_version");
    return os != NULL && version != NULL && strncasecmp(version, os, strlen(os)) == 0;
}

static void put_host(const struct page *p, FILE *out) {
    static const char *const names[] = {"os", "os_version", "kernel", "arch", "model"};
    const json_t *host = json_object_get(p->report, "host");
    int64_t cpus = value_int(host, "cpus"), bytes = value_int(host, "memory_bytes");
    size_t first = version_says_system(host) ? 1 : 0;
    for (size_t i = first; i < sizeof names / sizeof names[0]; i++) {
        if (value_text(host, names[i]) != NULL) {
            fprintf(out, "%s%s", i == first ? "" : i == 1 ? " " : ", ", value_text(host, names[i]));
        }
    }
    if (cpus > 0) {
        fprintf(out, ", %" PRId64 " CPU%s", cpus, cli_plural(cpus, "", "s"));
    }
    if (bytes > 0) {
        fprintf(out, ", %.1f GiB", (double)bytes / (1 << 30));
    }
}

static void put_watch(const struct page *p, FILE *out) {
    static const char *const said[][2] = {
        {"exact", "turns are exact"},
        {"exact-if-blocked", "turns are exact if the thread blocked before them"},
        {"polled", "turns are as exact as the looks are near"}};
    const json_t *watch = json_object_get(p->report, "watch");
    const char *hook = value_text(watch, "hook"), *turns = value_text(watch, "turns");
    fprintf(out, "from outside, by %s", hook != NULL ? hook : "?");
    for (size_t i = 0; turns != NULL && i < sizeof said / sizeof said[0]; i++) {
        if (strcmp(turns, said[i][0]) == 0) {
            fprintf(out, "; %s", said[i][1]);
        }
    }
}

/* "nginx.service on web-3, container shop-web-1 (nginx:1.25)" */
static void put_place(const struct page *p, FILE *out) {
    const json_t *host = json_object_get(p->report, "host"), *of = json_object_get(host, "container");
    const char *unit = value_text(host, "unit"), *name = value_text(host, "name");
    const char *id = value_text(of, "id"), *known = value_text(of, "name"), *image = value_text(of, "image");
    fprintf(out, "%s%s%s", unit != NULL ? unit : "", unit != NULL && name != NULL ? " on " : "",
            name != NULL ? name : "");
    const char *comma = unit != NULL || name != NULL ? ", " : "";
    if (known != NULL) {
        fprintf(out, "%scontainer %s", comma, known);
    } else if (id != NULL) {
        fprintf(out, "%scontainer %.12s", comma, id);
    } else if (value_text(of, "pod") != NULL) {
        fprintf(out, "%spod %s", comma, value_text(of, "pod"));
    }
    if (image != NULL) {
        fprintf(out, " (%s)", image);
    }
}

static void put_file(const struct page *p, FILE *out) {
    char word[4 * PATH_MAX];
    quote_word(word, sizeof word, p->options->file);
    fputs(word, out);
}

static void put_line(const struct page *p, const char *label, void (*put)(const struct page *p, FILE *out)) {
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (out != NULL) {
        put(p, out);
        if (fclose(out) == 0) {
            render_wrapped(p, "", label, 10, text);
        }
    }
    free(text);
}

void render_run(const struct page *p) {
    const json_t *host = json_object_get(p->report, "host");
    render_heading(p, "Run");
    put_line(p, "  program ", put_app);
    put_line(p, "  host    ", put_host);
    if (json_object_get(p->report, "watch") != NULL) {
        put_line(p, "  watch   ", put_watch);
    }
    if (value_text(host, "name") != NULL || value_text(host, "unit") != NULL ||
        json_object_get(host, "container") != NULL) {
        put_line(p, "  place   ", put_place);
    }
    if (p->options->file != NULL) {
        put_line(p, "  file    ", put_file);
    }
}

void render_cost(const struct page *p) {
    char longest[RENDER_DURATION_BYTES], all[RENDER_DURATION_BYTES], text[256];
    const json_t *monitor = json_object_get(p->report, "monitor");
    if (monitor == NULL) {
        return;
    }
    int64_t samples = value_int(monitor, "samples"), calls = value_int(monitor, "interrupted_syscalls");
    render_heading(p, "Cost");
    snprintf(
        text, sizeof text,
        "%" PRId64 " sample%s, pauses of %s in all, the longest %s, %" PRId64 " system call%s interrupted%s",
        samples, cli_plural(samples, "", "s"), render_duration(all, value_int(monitor, "pause_total_ns")),
        render_duration(longest, value_int(monitor, "pause_max_ns")), calls, cli_plural(calls, "", "s"),
        json_is_true(json_object_get(monitor, "degraded")) ? "; fewer samples than usual, to cost less" : "");
    render_wrapped(p, "", "  ", 2, text);
}
