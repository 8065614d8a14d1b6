/* SPDX-License-Identifier: MIT */
#include "cli/live/top_page.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/sanitize.h"

static void add(struct top_page *p, enum top_style style, char *text) {
    if (p->count == p->room) {
        size_t room = p->room != 0 ? 2 * p->room : 64;
        struct top_line *more = realloc(p->line, room * sizeof *more);
        if (more == NULL) {
            free(text);
            return;
        }
        p->line = more;
        p->room = room;
    }
    if (text != NULL) {
        sanitize_text(text);
    }
    p->line[p->count++] = (struct top_line){text, style};
}

void top_page_add(struct top_page *p, enum top_style style, const char *format, ...) {
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int n = vasprintf(&text, format, arguments);
    va_end(arguments);
    add(p, style, n >= 0 ? text : NULL);
}

void top_page_add_lines(struct top_page *p, const char *text) {
    while (text != NULL && *text != '\0') {
        size_t n = strcspn(text, "\n");
        add(p, strncmp(text, "  >", 3) == 0 ? TOP_BOLD : TOP_PLAIN, strndup(text, n));
        text += n + (text[n] != '\0');
    }
}

void top_page_clear(struct top_page *p) {
    for (size_t i = 0; i < p->count; i++) {
        free(p->line[i].text);
    }
    free(p->line);
    *p = (struct top_page){0};
}

void top_page_print(FILE *out, const struct top_page *p) {
    for (size_t i = 0; i < p->count; i++) {
        fprintf(out, "%s\n", p->line[i].text != NULL ? p->line[i].text : "");
    }
}
