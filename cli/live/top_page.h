/* SPDX-License-Identifier: MIT
 *
 * Lines of a screen with a style each: for a terminal, or for a text without one. Ordinary code.
 */
#ifndef CLI_LIVE_TOP_PAGE_H
#define CLI_LIVE_TOP_PAGE_H

#include <stddef.h>
#include <stdio.h>

enum top_style {
    TOP_PLAIN,
    TOP_BOLD,
    TOP_DIM,
    TOP_ALARM,
    TOP_SELECTED
};

struct top_page {
    struct top_line {
        char *text; /* without control characters; NULL: there was no memory */
        enum top_style style;
    } *line;
    size_t count, room;
};

void top_page_add(struct top_page *p, enum top_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Each line of the text; one that begins with "  >" is bold. */
void top_page_add_lines(struct top_page *p, const char *text);
/* Empty again. */
void top_page_clear(struct top_page *p);
void top_page_print(FILE *out, const struct top_page *p);

#endif
