/* SPDX-License-Identifier: MIT
 *
 * What the files of the text rendering share; nobody else includes this.
 */
#ifndef CLI_RENDER_PARTS_H
#define CLI_RENDER_PARTS_H

#include "cli/render/render.h"

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
void render_stack(const struct page *p, const json_t *stack, bool hot);
/* "hangdog show CALLED --spool DIR", with an option; CALLED is a word for a shell, NULL: the id. */
void render_command(const struct page *p, const char *called, const char *id, const char *option);
/* "file.c:12", empty when it is not known. Caller frees. */
char *render_place(const json_t *frame);
bool render_is_kind(const json_t *report, const char *kind);
/* "hung for 2.003 s in poll, called by fetch (fetch.c:12)", and the thread, which goes without saying when it
 * is the main one. */
void render_sentence(const struct page *p);
void render_loop(const struct page *p);
/* Where a hang waited for Python's interpreter lock: what its cause's detail says after that it waited ("for
 * 2 s"). NULL: it is not known for certain. And the other threads that ran when they were looked at. */
const char *render_after_gil(const json_t *report);
void render_who_ran(const struct page *p);
/* Instead of the cause's detail, where a thread that is in the report has the mutex: `waited for a mutex held
 * by thread 9131 "compactor", which was in compact_log (lock.c:11), in usleep`. False: nothing is printed. */
bool render_lock(const struct page *p);
/* What the call tree has beside a hot stack's frames; frees by free(). NULL: no memory. */
struct fans;
struct fans *render_fans(const json_t *report, const json_t *hot_frames);
/* The other callees of the function that called this frame, in a line if there are any. */
void render_fan(const struct page *p, const struct fans *fans, size_t frame, int indent);
void render_session(const struct page *p);
void render_threads(const struct page *p);

#endif
