/* SPDX-License-Identifier: MIT
 *
 * What the files of the text rendering share; nobody else includes this.
 */
#ifndef CLI_RENDER_PARTS_H
#define CLI_RENDER_PARTS_H

#include "cli/render.h"

/* Escape sequences, all empty without colour. */
struct style {
    const char *bold, *dim, *alarm, *end;
};
struct style render_style(bool colour);

struct page {
    FILE *out;
    const json_t *report;
    const struct render_options *options;
    struct style style;
};

/* A member of an object: borrowed text, NULL when it is missing. */
const char *member_text(const json_t *object, const char *name);
int64_t member_int(const json_t *object, const char *name); /* 0 when it is missing */

/* The frames of a stack object {frames, stop, cut}, a line each. */
void render_stack(const struct page *p, const json_t *stack, bool own_bold);
void render_session(const struct page *p);
void render_threads(const struct page *p);

#endif
