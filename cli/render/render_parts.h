/* SPDX-License-Identifier: MIT
 *
 * Functions that the files of the text rendering share with each other and with cli/live.
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
const char *value_text(const json_t *object, const char *name);
/* 0 when it is missing, and where it is negative: a report says anything. */
int64_t value_int(const json_t *object, const char *name);
int64_t value_signed(const json_t *object, const char *name); /* a parent, a signal's code */
int64_t value_sum(int64_t a, int64_t b); /* of two that are not negative; at most the largest number */

/* ---- texts: the caller frees them; NULL: no memory ---------------------------------------- */

/* A function in at most `width` columns where that is possible; 0: all of it. Without symbols its place in
 * the module. */
char *render_name(const struct page *p, const json_t *frame, int width);
/* The same with file and line: "lookup (lock.c:13)". */
char *render_function(const struct page *p, const json_t *frame, int width);
/* A library's function as the user knows it: "subprocess.run", "pthread_join". */
char *render_call(const struct page *p, const json_t *frame, int width);
/* "file.c:12", empty when it is not known. */
char *render_place(const json_t *frame);
/* "libgtk-3" of libgtk-3.so.0; empty when it is not known. */
char *render_library(const json_t *report, const json_t *frame);
/* The cause as a sentence without a stop: "waited for a mutex held by thread 9131". NULL: none, too. */
char *render_why(const struct page *p);
/* The same for a thread that has the mutex, if that is the cause and the thread is in the report. NULL: not.
 */
char *render_lock(const struct page *p);
/* "all 4 threads of libuv's pool", "all 3 threads "archiver"", of a report of kind pool-stall. */
void render_pool(FILE *out, const json_t *report);
/* "thread 9131 \"compactor\"" */
void render_put_thread(FILE *out, int64_t tid, const json_t *thread);
const json_t *render_thread(const json_t *report, int64_t tid); /* borrowed; NULL: it has none */

/* ---- parts of a page ---------------------------------------------------------------------- */

/* The text behind a label, wrapped at words; its further lines are indented. */
void render_wrapped(const struct page *p, const char *style, const char *label, int indent, const char *text);
/* The frames of the short form, and how many it hides. */
void render_own_frames(const struct page *p, const json_t *frames, size_t *hidden);
/* The outermost function of a library that this frame calls. NULL: it calls none. Borrowed. */
const json_t *render_called(const json_t *report, const json_t *frames, size_t own);
/* The frames of a stack object {frames, stop, cut}, a line each: share, function, file and line. */
void render_stack(const struct page *p, const json_t *stack, bool hot);
/* "(7 runtime frames hidden; --all-frames)", and `end` behind it; nothing where there is none. */
void render_hidden(const struct page *p, size_t hidden, const char *end);
/* Prints why a stack ends early or is missing. */
void render_stop(const struct page *p, const json_t *stack);
/* The short form; `more`: with the command that shows the rest. */
void render_short(const struct page *p, bool more);
/* A line that starts a part: "Stack". */
void render_heading(const struct page *p, const char *text);
/* "hangdog show CALLED --spool DIR", with an option; CALLED is a word for a shell, NULL: the id's end. */
void render_command(FILE *out, const struct page *p, const char *called, const char *id, const char *option);
bool render_is_kind(const json_t *report, const char *kind);
enum {
    RENDER_LABEL = 7
}; /* columns of "  why  " */
/* The signal of a crash's report, NULL: it is of another kind. And what it means, as a line. */
const char *render_crash_signal(const json_t *report);
void render_crash_why(const struct page *p);
/* The lines below a hang: notes on its start, its end and its samples. */
void render_remarks(const struct page *p);
bool render_is_cpu(const json_t *report);
/* In a report of the CPU monitor: how much of the thread's time has no stack, and what shows it. */
void render_cpu_unsampled(const struct page *p);
/* A wait for Python's interpreter lock. */
bool render_is_gil(const json_t *report);
/* `; thread 71 "resizer" used 97% of a CPU` */
void render_who_ran(FILE *out, const json_t *report);
/* The branches of the call tree next to the frames of a hot stack. The caller calls free(). NULL: no memory.
 */
struct branches;
struct branches *render_branches(const json_t *report, const json_t *hot_frames);
/* The other callees of the function that called this frame, in a line if there are any. */
void render_branch(const struct page *p, const struct branches *branches, size_t frame, int indent);
void render_session(const struct page *p);
void render_timeline(const struct page *p);
void render_threads(const struct page *p);
void render_run(const struct page *p);  /* version, host, file */
void render_cost(const struct page *p); /* of watching */

#endif
