/* SPDX-License-Identifier: MIT
 *
 * Keys and the order of threads. Pure.
 */
#include "cli/live/top_state.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_LINES 5

static int by_number(const void *a, const void *b) {
    const struct top_thread *x = a, *y = b;
    return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static int by_name(const void *a, const void *b) {
    const struct top_thread *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : by_number(a, b);
}

/* To whole percents, as they are shown. */
static int by_cpu(const void *a, const void *b) {
    const struct top_thread *x = a, *y = b;
    int of_x = (int)(x->cpu_percent + 0.5), of_y = (int)(y->cpu_percent + 0.5);
    return of_x > of_y ? -1 : of_x < of_y ? 1 : by_number(a, b);
}

void top_state_sort(struct top_thread *threads, size_t count, enum top_order order) {
    static int (*const orders[TOP_ORDERS])(const void *, const void *) = {
        [TOP_BY_CPU] = by_cpu, [TOP_BY_NUMBER] = by_number, [TOP_BY_NAME] = by_name};
    if (count > 1) {
        qsort(threads, count, sizeof *threads, orders[order]);
    }
}

static size_t place_of(const struct top_thread *threads, size_t count, int tid) {
    size_t i = 0;
    while (i < count && threads[i].tid != tid) {
        i++;
    }
    return i;
}

size_t top_state_selected(struct top_state *s, const struct top_thread *threads, size_t count, int main_tid) {
    size_t i = place_of(threads, count, s->tid);
    if (i == count) {
        i = place_of(threads, count, main_tid);
        i = i < count ? i : 0;
        s->tid = count != 0 ? threads[i].tid : 0;
        s->scrolled = 0;
    }
    return i;
}

static void choose(struct top_state *s, const struct top_thread *threads, size_t count, bool up) {
    size_t i = place_of(threads, count, s->tid);
    if (i < count && (up ? i > 0 : i + 1 < count)) {
        s->tid = threads[up ? i - 1 : i + 1].tid;
        s->scrolled = 0;
    }
}

void top_state_press(struct top_state *s, enum top_key key, const struct top_thread *threads, size_t count) {
    if (s->help && key != TOP_KEY_NONE && key != TOP_KEY_QUIT) {
        s->help = false; /* any key leaves the help */
        return;
    }
    switch (key) {
    case TOP_KEY_NONE:
    case TOP_KEY_OTHER:
        break;
    case TOP_KEY_UP:
    case TOP_KEY_DOWN:
        choose(s, threads, count, key == TOP_KEY_UP);
        break;
    case TOP_KEY_PAGE_UP:
        s->scrolled -= s->scrolled < PAGE_LINES ? s->scrolled : PAGE_LINES;
        break;
    case TOP_KEY_PAGE_DOWN:
        s->scrolled += PAGE_LINES;
        break;
    case TOP_KEY_SORT:
        s->order = (s->order + 1) % TOP_ORDERS;
        break;
    case TOP_KEY_PAUSE:
        s->paused = !s->paused;
        break;
    case TOP_KEY_EXPAND:
        s->all_frames = !s->all_frames;
        s->scrolled = 0;
        break;
    case TOP_KEY_HELP:
        s->help = true;
        break;
    case TOP_KEY_DUMP:
        s->dump = s->quit = true;
        break;
    case TOP_KEY_QUIT:
        s->quit = true;
        break;
    }
}
