/* SPDX-License-Identifier: MIT */
#include "cli/export/select.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/error.h"
#include "cli/base/libexec.h"
#include "cli/base/moment.h"
#include "cli/commands.h"
#include "cli/export/formats.h"
#include "cli/reader/report_find.h"
#include "cli/reader/report_load.h"
#include "cli/reader/report_pick.h"
#include "cli/reader/symbolicate.h"
#include "cli/reader/symbols_option.h"
#include "cli/render/cmd_list.h"

#define FORMATS_BYTES 160

struct selection {
    const struct export_options *options;
    struct symbolizer *symbolizer; /* NULL: no names are looked up */
    char since[MOMENT_BYTES];
    json_t *reports;
    int status;
};

bool export_is_of_spool(const struct export_options *o) {
    return export_format_of(o->format)->of_spool;
}

bool export_can_send(const struct export_options *o) {
    return export_format_can_send(export_format_of(o->format));
}

int export_refuse_send(void) {
    char formats[FORMATS_BYTES];
    return options_wrong_use(&command_export, "--send is for --format %s",
                             export_format_list(formats, sizeof formats, export_format_can_send, " and "));
}

/* Takes the report. */
static void add(struct selection *s, json_t *report, const char *path) {
    if (s->symbolizer != NULL) {
        report_symbolicate(report, s->symbolizer, report_owner(path), REPORT_ALL, NULL);
    }
    json_array_append_new(s->reports, report);
}

static void add_named(struct selection *s, const char *name) {
    struct problem why;
    size_t matches = 0;
    char *path = NULL;
    json_t *report = reports_pick(s->options->spool, name, &path, &matches, &why);
    if (report != NULL) {
        add(s, report, path);
    } else {
        s->status = error_print(&why);
        if (matches > 1) {
            cmd_list_matches(s->options->spool, name);
        }
    }
    free(path);
}

static bool passes(const struct selection *s, const json_t *report) {
    const char *app = report_text(json_object_get(report, "app"), "name");
    bool session = strcmp(report_text(report, "kind"), "session") == 0;
    return (!session || export_is_of_spool(s->options)) &&
           (s->options->app == NULL || strcmp(app, s->options->app) == 0) &&
           (s->since[0] == '\0' || strcmp(report_text(report, "started_at"), s->since) >= 0);
}

static void add_all(struct selection *s) {
    struct report_files files;
    struct problem why;
    if (reports_find(s->options->spool, &files, &why) != 0) {
        s->status = error_print(&why);
        reports_free(&files);
        return;
    }
    for (size_t i = 0; i < files.count; i++) {
        const char *path = files.file[i].path;
        errno = 0;
        json_t *report =
            export_is_of_spool(s->options) ? report_load_head(path, &why) : report_load(path, &why);
        if (report == NULL && !report_is_gone(path)) {
            bool unread = errno == ENOMEM || access(path, R_OK) != 0;
            error_print(&why);
            s->status =
                unread ? EXIT_ERROR : s->status; /* a file that is not a report is missing from no answer */
        } else if (report != NULL && passes(s, report)) {
            add(s, report, path);
        } else {
            json_decref(report);
        }
    }
    if (json_array_size(s->reports) == 0 && s->status == 0 && !export_is_of_spool(s->options)) {
        s->status = print_error("cannot export: none of %zu reports in %s matches", files.count, files.where);
    }
    reports_free(&files);
}

json_t *export_select(const struct export_options *o, char **named, int count, int *status) {
    struct selection s = {.options = o, .reports = json_array()};
    time_t from;
    if (o->since != NULL) {
        if (!moment_parse(o->since, time(NULL), &from)) {
            json_decref(s.reports);
            *status = options_wrong_use(
                &command_export, "--since '%s': want 2h, 3d, today, yesterday or a date, as 2026-11-20",
                o->since);
            return NULL;
        }
        moment_write(s.since, from);
    }
    if (!o->no_symbols && !export_is_of_spool(o)) {
        s.symbolizer =
            symbolizer_create(&(struct symbolizer_options){.debuginfod = true,
                                                           .on_wait = symbols_say_wait,
                                                           .worker = libexec_look_up(),
                                                           .symbols = symbols_folders(o->symbols)});
    }
    for (int i = 0; i < count; i++) {
        add_named(&s, named[i]);
    }
    if (count == 0 && (o->all || o->app != NULL || o->since != NULL || export_is_of_spool(o))) {
        add_all(&s);
    } else if (count == 0) {
        add_named(&s, "latest");
    }
    symbolizer_destroy(s.symbolizer);
    if (json_array_size(s.reports) == 0 && s.status != 0) {
        json_decref(s.reports);
        s.reports = NULL;
    }
    *status = s.status;
    return s.reports;
}
