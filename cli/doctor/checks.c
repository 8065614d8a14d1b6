/* SPDX-License-Identifier: MIT */
#include "cli/doctor/checks.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/sanitize.h"
#include "cli/base/terminal.h"
#include "cli/reader/report_load.h"

#define INDENT 16
#define TEXT_BYTES 4096

static const char *const status_names[] = {"ok", "warn", "fail"};
static const char *const status_colours[] = {"", "\033[33m", "\033[1;31m"};

void checks_start(struct checks *c) {
    c->all = json_array();
    c->failed = false;
}

void checks_end(struct checks *c) {
    json_decref(c->all);
}

void checks_add(struct checks *c, const char *name, enum check_status status, const char *fix,
                const char *format, ...) {
    char text[TEXT_BYTES], command[TEXT_BYTES];
    json_t *one = json_object();
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    sanitize_text(text);
    snprintf(command, sizeof command, "%s", fix != NULL ? fix : "");
    sanitize_text(command);
    json_object_set_new(one, "check", json_string(name));
    json_object_set_new(one, "status", json_string(status_names[status]));
    json_object_set_new(one, "detail", json_stringn_nocheck(text, strlen(text)));
    if (command[0] != '\0') {
        json_object_set_new(one, "fix", json_stringn_nocheck(command, strlen(command)));
    }
    json_array_append_new(c->all, one);
    c->failed |= status == CHECK_FAIL;
}

/* Words at the indentation, in lines that fit the terminal; `columns` 0: in one line. */
static void print_wrapped(FILE *to, const char *text, int columns) {
    int used = INDENT;
    bool first = true;
    while (*text != '\0') {
        size_t n = strcspn(text, " ");
        if (!first && columns > 0 && used + 1 + (int)n > columns) {
            fprintf(to, "\n%*s", INDENT, "");
            used = INDENT;
        } else if (!first) {
            fputc(' ', to);
            used++;
        }
        fprintf(to, "%.*s", (int)n, text);
        used += (int)n;
        text += n;
        text += *text == ' ';
        first = false;
    }
    fputc('\n', to);
}

void checks_print(FILE *to, const struct checks *c, bool quiet) {
    bool colour = terminal_wants_colour(fileno(to));
    int columns = isatty(fileno(to)) != 0 ? terminal_columns(fileno(to)) : 0;
    json_t *one;
    size_t i;
    json_array_foreach(c->all, i, one) {
        const char *status = report_text(one, "status"), *fix = report_text(one, "fix");
        enum check_status s = status[0] == 'f' ? CHECK_FAIL : status[0] == 'w' ? CHECK_WARN : CHECK_OK;
        if (quiet && s != CHECK_FAIL) {
            continue;
        }
        const char *end = colour && s != CHECK_OK ? "\033[0m" : "";
        fprintf(to, "%s%-4s%s  %-8s  ", colour ? status_colours[s] : "", status, end,
                report_text(one, "check"));
        print_wrapped(to, report_text(one, "detail"), columns);
        if (fix[0] != '\0') {
            fprintf(to, "%s      %s%s\n", colour ? "\033[1m" : "", fix, colour ? "\033[0m" : "");
        }
    }
}
