/* SPDX-License-Identifier: MIT */
#include "cli/reader/summaries.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/error.h"
#include "cli/base/libexec.h"
#include "cli/base/memory_limit.h"
#include "cli/base/moment.h"
#include "cli/base/sanitize.h"
#include "cli/base/shell_quote.h"
#include "cli/base/suggestion.h"
#include "cli/reader/frame_origin.h"
#include "cli/reader/groups.h"
#include "cli/reader/libuv_wait.h"
#include "cli/reader/own_frame.h"
#include "cli/reader/report_find.h"
#include "cli/reader/report_load.h"
#include "cli/reader/report_pick.h"
#include "cli/reader/report_version.h"
#include "cli/reader/report_words.h"
#include "cli/reader/symbolicate.h"
#include "cli/reader/symbols_option.h"

#define END_MIN 6

/* Before the report's names are looked up. */
static bool passes(const json_t *report, const struct summary_options *o, const char *since) {
    const char *kind = report_text(report, "kind");
    bool session = strcmp(kind, "session") == 0;
    if (o->kind != NULL ? strcmp(kind, report_words_kind_of(o->kind)) != 0 : session && !o->sessions) {
        return false;
    }
    if (o->app != NULL && strcmp(report_text(json_object_get(report, "app"), "name"), o->app) != 0) {
        return false;
    }
    if (!report_origin_fits(report, &o->origin)) {
        return false;
    }
    if (o->cause != NULL && !session &&
        strcmp(report_text(json_object_get(report, "cause"), "kind"), o->cause) != 0) {
        return false;
    }
    return since[0] == '\0' || (session && o->sessions) ||
           strcmp(report_text(report, "started_at"), since) >= 0;
}

static json_t *own_of(const json_t *frame) {
    static const char *const members[] = {"function", "file", "line"};
    json_t *own = json_object();
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        json_object_set(own, members[i], json_object_get(frame, members[i]));
    }
    return own;
}

static json_t *summary_of(const json_t *report, const char *path) {
    const json_t *app = json_object_get(report, "app");
    size_t version_bytes;
    const char *version = report_version(report, &version_bytes);
    json_t *out = json_object();
    json_object_set(out, "id", json_object_get(report, "id"));
    json_object_set_new(out, "file", json_string(path));
    json_object_set(out, "kind", json_object_get(report, "kind"));
    json_object_set(out, "started_at", json_object_get(report, "started_at"));
    json_object_set(out, "duration_ns", json_object_get(report, "duration_ns"));
    json_object_set(out, "at_least", json_object_get(report, "at_least"));
    json_object_set(out, "cause", json_object_get(json_object_get(report, "cause"), "kind"));
    json_object_set(out, "app", json_object_get(app, "name"));
    json_object_set(out, "pid", json_object_get(app, "pid"));
    json_object_set(out, "fingerprint", json_object_get(report, "fingerprint"));
    json_object_set(out, "session", json_object_get(app, "session"));
    if (version != NULL) {
        json_object_set_new(out, "version", json_stringn(version, version_bytes));
    }
    json_object_set_new(out, "brief", json_boolean(json_object_get(report, "repeat_of") != NULL));
    report_origin_add(out, report);
    json_object_set(out, "suppressed", json_object_get(json_object_get(report, "session"), "suppressed"));
    return out;
}

/* The part of a summary that comes from the stacks. */
static json_t *name_of(const json_t *report) {
    const json_t *own = report_own_frame(report);
    const json_t *frames = json_object_get(json_object_get(report, "hot_stack"), "frames");
    char *place = report_frame_place(report, own);
    /* without a path: the name is of all reports with this fingerprint */
    char *wait = own != NULL ? report_libuv_wait(report, frames, own, false) : NULL;
    json_t *out = json_object();
    if (wait != NULL) {
        json_object_set_new(out, "function", json_string(wait));
        json_object_set_new(out, "own", json_pack("{s:s}", "function", wait));
        free(wait);
        free(place);
        return out;
    }
    json_object_set(out, "function", json_object_get(own, "function"));
    if (place != NULL) {
        json_object_set_new(out, "place", json_string(place));
    }
    if (own != NULL) {
        json_object_set_new(out, "own", own_of(own));
    }
    free(place);
    return out;
}

static void add_name(struct summaries *s, json_t *row, bool exactly) {
    struct problem why;
    const char *path = report_text(row, "file");
    bool known = !exactly && json_object_get(row, "fingerprint") != NULL;
    char *key = groups_key(row, (const char *const[]){"app", "version", "fingerprint", "kind", NULL});
    json_t *name = known && key != NULL ? json_object_get(s->named, key) : NULL;
    if (name != NULL || strcmp(report_text(row, "kind"), "session") == 0) {
        json_object_update(row, name);
        free(key);
        return;
    }
    json_t *report = report_load(path, &why);
    if (report != NULL && s->symbolizer != NULL) {
        report_symbolicate(report, s->symbolizer, report_owner(path), REPORT_HOT, NULL);
    }
    if (report != NULL) {
        name = name_of(report);
        json_object_update(row, name);
        json_object_set_new(s->named, key != NULL && known ? key : path, name);
    } else if (!report_is_gone(path)) {
        error_print(&why);
    }
    json_decref(report);
    free(key);
}

void summaries_name(struct summaries *s, json_t *row) {
    add_name(s, row, true);
}

const json_t *summaries_rows(struct summaries *s, bool named) {
    for (size_t i = json_array_size(s->rows); named && i-- > 0;) {
        add_name(s, json_array_get(s->rows, i), false);
    }
    return s->rows;
}

static int parse_since(const struct command *c, const struct summary_options *o, char since[MOMENT_BYTES],
                       time_t *from) {
    since[0] = '\0';
    if (o->since == NULL) {
        return 0;
    }
    if (!moment_parse(o->since, time(NULL), from)) {
        return options_wrong_use(c, "--since '%s': want 2h, 3d, today, yesterday or a date, as 2026-11-20",
                                 o->since);
    }
    moment_write(since, *from);
    return 0;
}

static void count_end(struct summaries *out, const char *text) {
    char key[END_MIN + 1];
    snprintf(key, sizeof key, "%s", text);
    json_int_t before = json_integer_value(json_object_get(out->ends, key));
    json_object_set_new(out->ends, key, json_integer(before + 1));
}

static void keep_ids(const struct report_files *files, struct summaries *out) {
    out->id = calloc(files->count + 1, sizeof *out->id);
    out->ends = json_object();
    for (size_t i = 0; out->id != NULL && i < files->count; i++) {
        const char *id = files->file[i].id;
        size_t n = strlen(id);
        out->id[i] = strdup(id);
        count_end(out, id);
        count_end(out, n > END_MIN ? id + n - END_MIN : id);
    }
    out->count = files->count;
}

static void read_file(const char *path, const struct summary_options *o, const char *since,
                      struct summaries *out, struct problem *first) {
    struct problem why;
    errno = 0;
    json_t *report = report_load_head(path, &why);
    if (report == NULL) {
        bool unread = errno == ENOMEM || access(path, R_OK) != 0;
        if (!report_is_gone(path)) {
            *first = out->failed++ == 0 ? why : *first;
            out->unread |= unread;
            if (o->verbose) {
                error_print(&why);
            }
        }
        return;
    }
    json_object_set_new(out->apps, report_text(json_object_get(report, "app"), "name"), json_true());
    if (passes(report, o, since)) {
        json_array_append_new(out->rows, summary_of(report, path));
    }
    json_decref(report);
}

/* An id begins with the milliseconds at which its hang began or its session ended: no file is opened of one
 * that is older. */
static bool is_older(const char *id, time_t from) {
    char digits[13];
    if (from == 0 || strlen(id) != REPORT_ID_CHARS || id[14] != '7') {
        return false;
    }
    snprintf(digits, sizeof digits, "%.8s%.4s", id, id + 9);
    return strtoull(digits, NULL, 16) / 1000 + 1 < (unsigned long long)from;
}

int summaries_read(const struct command *c, const struct summary_options *o, struct summaries *out) {
    struct report_files files;
    struct problem why, first = {.command = ""};
    char since[MOMENT_BYTES];
    memset(out, 0, sizeof *out);
    int status = parse_since(c, o, since, &out->from);
    if (status != 0) {
        return status;
    }
    if (reports_find(o->spool, &files, &why) != 0) {
        return error_print(&why);
    }
    memory_keep_to_room(); /* a text that is no report takes fifty times its size until that is known */
    out->symbolizer = o->no_symbols
                          ? NULL
                          : symbolizer_create(&(struct symbolizer_options){
                                .worker = libexec_look_up(), .symbols = symbols_folders(o->symbols)});
    out->rows = json_array();
    out->apps = json_object();
    out->named = json_object();
    out->where = strdup(files.where);
    out->unread = files.unread;
    keep_ids(&files, out);
    for (size_t i = 0; i < files.count; i++) {
        if ((o->id == NULL || report_id_matches(files.file[i].id, o->id)) &&
            !is_older(files.file[i].id, out->from)) {
            read_file(files.file[i].path, o, since, out, &first);
        }
    }
    if (out->failed == 1 && !o->verbose) {
        error_print(&first);
    } else if (out->failed > 1 && !o->verbose) {
        print_error("%zu of %zu files are not reports (-v)", out->failed, files.count);
    }
    reports_free(&files);
    return 0;
}

bool summaries_lack_reports(const struct summaries *s) {
    return s->unread || (s->failed > 0 && s->failed == s->count);
}

void summaries_free(struct summaries *s) {
    for (size_t i = 0; s->id != NULL && i < s->count; i++) {
        free(s->id[i]);
    }
    free(s->id);
    free(s->where);
    json_decref(s->rows);
    json_decref(s->apps);
    json_decref(s->named);
    json_decref(s->ends);
    symbolizer_destroy(s->symbolizer);
}

size_t summaries_id_end(const struct summaries *s, const char *id) {
    size_t all = strlen(id), end = all < END_MIN ? all : END_MIN;
    if (json_integer_value(json_object_get(s->ends, id + all - end)) == 1) {
        return end;
    }
    for (size_t i = 0; s->id != NULL && i < s->count; i++) {
        const char *other = s->id[i];
        size_t n = strlen(other);
        if (strcmp(other, id) == 0) {
            continue;
        }
        while (end < all && (strcmp(other + (n < end ? 0 : n - end), id + all - end) == 0 ||
                             strncmp(other, id + all - end, end) == 0)) {
            end++;
        }
    }
    return end;
}

void summaries_say_none(const struct summaries *s, const struct summary_options *o) {
    struct suggestion nearest = {.word = o->app != NULL ? o->app : ""};
    char command[PROBLEM_BYTES];
    const char *name;
    json_t *value;
    snprintf(command, sizeof command, "%s run -- PROGRAM", shell_own_command());
    if (options_quiet()) {
        return;
    }
    if (s->count == 0) {
        print_error_try(command, "no reports yet in %s%s", s->where, s->unread ? " that can be read" : "");
        return;
    }
    json_object_foreach(s->apps, name, value) {
        suggestion_add(&nearest, name);
    }
    bool all = s->from == 0; /* else it may have older ones, which were not opened */
    if (all && o->app != NULL && json_object_get(s->apps, o->app) == NULL && nearest.nearest != NULL) {
        print_error("no report of '%s'; did you mean '%s'?", o->app, nearest.nearest);
    } else if (all && o->app == NULL && o->cause == NULL && o->kind == NULL && o->id == NULL &&
               report_origin_is_any(&o->origin)) {
        print_error("no hangs yet, only %zu report%s of sessions (%s list --kind session)", s->count,
                    cli_plural((int64_t)s->count, "", "s"), shell_own_command());
    } else {
        print_error("none of %zu report%s matches", s->count, cli_plural((int64_t)s->count, "", "s"));
    }
}
