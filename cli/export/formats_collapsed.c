/* SPDX-License-Identifier: MIT
 *
 * Collapsed stacks: "app;thread;main;lookup 900000000", outermost first, nanoseconds. A line for each
 * stack.
 */
#include "cli/export/formats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/sanitize.h"
#include "cli/export/stacks.h"
#include "cli/reader/groups.h"
#include "cli/reader/report_load.h"

/* A semicolon ends a name, a new line the stack. */
static void put_name(FILE *out, const char *name) {
    char *plain = strdup(name != NULL && name[0] != '\0' ? name : "?");
    if (plain == NULL) {
        return;
    }
    sanitize_text(plain);
    for (char *at = plain; (at = strchr(at, ';')) != NULL;) {
        *at = ':';
    }
    fputs(plain, out);
    free(plain);
}

static char *line_of(const json_t *report, const struct export_thread *thread, const struct export_stack *s) {
    char *line = NULL, *label = export_thread_label(thread);
    size_t bytes = 0;
    FILE *out = open_memstream(&line, &bytes);
    if (out == NULL || label == NULL) {
        free(label);
        return NULL;
    }
    put_name(out, report_text(json_object_get(report, "app"), "name"));
    fputc(';', out);
    put_name(out, label);
    free(label);
    for (size_t i = s->count; i > 0; i--) {
        char *name = export_frame_name(report, s->frame[i - 1]);
        fputc(';', out);
        put_name(out, name);
        free(name);
    }
    if (s->count == 0) {
        fputs(";(no stack)", out);
    }
    if (fclose(out) != 0) {
        free(line);
        return NULL;
    }
    return line;
}

static bool add_report(json_t *lines, const json_t *report) {
    struct export_threads threads;
    bool well = export_threads_read(report, &threads);
    for (size_t i = 0; well && i < threads.count; i++) {
        const struct export_thread *thread = &threads.thread[i];
        for (size_t k = 0; well && k < thread->count; k++) {
            char *line = line_of(report, thread, &thread->stack[k]);
            json_int_t before = json_integer_value(json_object_get(lines, line));
            well = line != NULL &&
                   json_object_set_new(lines, line,
                                       json_integer(groups_add_times(before, thread->stack[k].ns))) == 0;
            free(line);
        }
    }
    export_threads_free(&threads);
    return well;
}

int export_collapsed(FILE *out, const json_t *reports) {
    json_t *lines = json_object(), *value;
    const json_t *report;
    const char *line;
    size_t i;
    bool well = lines != NULL;
    json_array_foreach(reports, i, report) {
        well = well && add_report(lines, report);
    }
    json_object_foreach(lines, line, value) {
        fprintf(out, "%s %" JSON_INTEGER_FORMAT "\n", line, json_integer_value(value));
    }
    json_decref(lines);
    errno = well ? errno : ENOMEM;
    return well && !ferror(out) ? 0 : -1;
}
