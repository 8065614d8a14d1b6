/* SPDX-License-Identifier: MIT
 *
 * From above: the process, its threads, the stack of the selected one, the keys. The stack has the room that
 * the threads leave, and half of the screen at least; all frames have nearly all of it. Ordinary code.
 */
#include "cli/live/top_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/live/dump_text.h"
#include "cli/live/thread_text.h"
#include "cli/render/render_parts.h"

#define LOOPS_SHOWN 4
#define LEAST_THREADS 3 /* rows that stay next to a stack with all frames */

static const char *const order_names[TOP_ORDERS] = {
    [TOP_BY_CPU] = "CPU", [TOP_BY_NUMBER] = "number", [TOP_BY_NAME] = "name"};

static const json_t *thread_of(const struct top_look *l, const struct top_thread *t) {
    return json_array_get(json_object_get(l->report, "threads"), t->place);
}

/* ---- parts ------------------------------------------------------------------------------------ */

static void put_head(struct top_page *page, const struct top_look *l, const struct top_state *s) {
    char up[RENDER_DURATION_BYTES], when[RENDER_TIME_BYTES];
    double percent = 0;
    for (size_t i = 0; i < l->count; i++) {
        percent += l->thread[i].cpu_percent > 0 ? l->thread[i].cpu_percent : 0;
    }
    top_page_add(page, TOP_BOLD, "%s[%d]  up %s  %zu thread%s, %.0f%% CPU  %s%s", l->process->name,
                 l->process->pid, render_duration(up, (int64_t)l->up_ns), l->count,
                 cli_plural((int64_t)l->count, "", "s"), percent,
                 render_clock(when, value_text(l->report, "started_at")), s->paused ? "  paused" : "");
}

static void put_rings(struct top_page *page, const struct top_look *l) {
    const json_t *rings = json_object_get(l->report, "deadlocks");
    for (size_t i = 0; i < json_array_size(rings); i++) {
        char *text = dump_text_ring(json_array_get(rings, i));
        top_page_add(page, TOP_ALARM, "%s", text != NULL ? text : "deadlock");
        free(text);
    }
}

static char *state_of(const struct top_look *l, const struct top_thread *t) {
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        return NULL;
    }
    thread_text_state(out, thread_of(l, t));
    return fclose(out) == 0 ? text : NULL;
}

static void put_thread(struct top_page *page, const struct top_look *l, const struct top_thread *t,
                       bool selected) {
    char name[32], cpu[16] = "-";
    char *state = state_of(l, t);
    snprintf(name, sizeof name, "%s%s", t->name, t->tid == l->process->pid ? " (main)" : "");
    if (t->cpu_percent >= 0) {
        snprintf(cpu, sizeof cpu, "%.0f%%", t->cpu_percent);
    }
    top_page_add(page, selected ? TOP_SELECTED : TOP_PLAIN, "%c %-7d %-22s %4s  %s", selected ? '>' : ' ',
                 t->tid, name, cpu, state != NULL ? state : "");
    free(state);
}

/* `rows` of them, the selected one among them. */
static void put_threads(struct top_page *page, const struct top_look *l, const struct top_state *s,
                        size_t selected, size_t rows) {
    size_t first = selected >= rows ? selected - rows + 1 : 0;
    top_page_add(page, TOP_DIM, "  %-7s %-22s %4s  NOW%s%s", "THREAD", "NAME", "CPU",
                 s->order != TOP_BY_CPU ? "  by " : "", s->order != TOP_BY_CPU ? order_names[s->order] : "");
    for (size_t i = first; i < l->count && i - first < rows; i++) {
        put_thread(page, l, &l->thread[i], i == selected);
    }
}

/* ---- the stack -------------------------------------------------------------------------------- */

/* Caller clears it. */
static void stack_lines(struct top_page *lines, const struct top_look *l, const struct top_state *s,
                        const struct top_thread *t, int width) {
    const struct render_options o = {.width = width, .all_frames = s->all_frames};
    const json_t *thread = thread_of(l, t), *stack = json_object_get(thread, "stack");
    char *text = NULL;
    size_t bytes, hidden = 0;
    FILE *out = stack != NULL ? open_memstream(&text, &bytes) : NULL;
    if (out == NULL) {
        top_page_add(lines, TOP_DIM,
                     "  no stack: it runs, and is not stopped for one (hangdog dump --running %d)",
                     l->process->pid);
        return;
    }
    thread_text_stack(out, l->report, stack, &o, &hidden);
    if (fclose(out) == 0) {
        top_page_add_lines(lines, text);
    }
    free(text);
    if (hidden != 0) {
        top_page_add(lines, TOP_DIM, "  (%zu runtime frame%s hidden; e: all frames)", hidden,
                     cli_plural((int64_t)hidden, "", "s"));
    }
}

static void put_stack(struct top_page *page, struct top_state *s, const struct top_thread *t,
                      const struct top_page *lines, size_t rows) {
    size_t most = lines->count > rows ? lines->count - rows : 0;
    s->scrolled = s->scrolled < most ? s->scrolled : most;
    top_page_add(page, TOP_DIM, "STACK OF %d \"%s\"", t->tid, t->name);
    for (size_t i = s->scrolled; i < lines->count && i - s->scrolled < rows; i++) {
        const struct top_line *line = &lines->line[i];
        top_page_add(page, line->style, "%s", line->text != NULL ? line->text : "");
    }
}

/* ---- all of it -------------------------------------------------------------------------------- */

static void put_help(struct top_page *page) {
    static const char text[] = "\n"
                               "  up, down, k, j    choose a thread; its stack is shown below the threads\n"
                               "  page up, down     move in the stack\n"
                               "  s                 sort by CPU, number, name\n"
                               "  e, Enter          all frames, or the program's own\n"
                               "  space, p          pause, and continue\n"
                               "  d                 end, and print the stacks of all threads\n"
                               "  q                 end\n"
                               "\n"
                               "  CPU               of one CPU, since the look before\n"
                               "  MEDIAN, P99       of the turns of the last minute, within a factor of two\n"
                               "  WORST             no turn was longer since the watch began\n"
                               "  NOW               what the thread waits for; one that runs has no stack\n"
                               "\n"
                               "  The process is not stopped, not signalled and not traced.\n";
    top_page_add_lines(page, text);
}

static void put_keys(struct top_page *page, const struct top_state *s, int height) {
    while (page->count + 1 < (size_t)height) {
        top_page_add(page, TOP_PLAIN, "%s", "");
    }
    if (s->help) {
        top_page_add(page, TOP_DIM, "any key: back   q quit");
    } else {
        top_page_add(page, TOP_DIM, "q quit   up/down thread   s sort: %s   space %s   e %s   h help",
                     order_names[s->order], s->paused ? "continue" : "pause",
                     s->all_frames ? "own frames" : "all frames");
    }
}

/* Rows for threads and for the stack, of what is left of the screen. */
static void share_rows(const struct top_look *l, const struct top_state *s, size_t stack, size_t left,
                       size_t *thread_rows, size_t *stack_rows) {
    size_t least = s->all_frames ? left - (left > LEAST_THREADS ? LEAST_THREADS : left) : left / 2;
    size_t unused = left > l->count ? left - l->count : 0;
    size_t most = unused > least ? unused : least;
    *stack_rows = stack < most ? stack : most;
    *thread_rows = left - *stack_rows;
}

void top_text(struct top_page *page, const struct top_look *l, struct top_state *s, int width, int height) {
    struct top_page stack = {0};
    size_t thread_rows = l->count, stack_rows = SIZE_MAX;
    size_t selected = top_state_selected(s, l->thread, l->count, l->process->pid);
    put_head(page, l, s);
    if (s->help) {
        put_help(page);
        put_keys(page, s, height);
        return;
    }
    top_watch_text(&l->watch, page, height > 0 ? LOOPS_SHOWN : RUN_LOOPS_MAX);
    put_rings(page, l);
    if (selected < l->count) {
        stack_lines(&stack, l, s, &l->thread[selected], width);
    }
    if (height > 0) {
        size_t used = page->count + 3; /* two headers and the keys */
        share_rows(l, s, stack.count, (size_t)height > used ? (size_t)height - used : 0, &thread_rows,
                   &stack_rows);
    }
    put_threads(page, l, s, selected, thread_rows);
    if (selected < l->count) {
        put_stack(page, s, &l->thread[selected], &stack, stack_rows);
    }
    if (height > 0) {
        put_keys(page, s, height);
    }
    top_page_clear(&stack);
}
