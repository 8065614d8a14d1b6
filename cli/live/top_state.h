/* SPDX-License-Identifier: MIT
 *
 * The selection of the user of `hangdog top`: a thread, an order, a view. Pure.
 */
#ifndef CLI_LIVE_TOP_STATE_H
#define CLI_LIVE_TOP_STATE_H

#include <stdbool.h>
#include <stddef.h>

enum top_order {
    TOP_BY_CPU,
    TOP_BY_NUMBER,
    TOP_BY_NAME,
    TOP_ORDERS
};

enum top_key {
    TOP_KEY_NONE,  /* none was pressed */
    TOP_KEY_OTHER, /* a key without a meaning */
    TOP_KEY_UP,
    TOP_KEY_DOWN,
    TOP_KEY_PAGE_UP,
    TOP_KEY_PAGE_DOWN,
    TOP_KEY_SORT,
    TOP_KEY_PAUSE,
    TOP_KEY_EXPAND,
    TOP_KEY_HELP,
    TOP_KEY_DUMP,
    TOP_KEY_QUIT,
};

struct top_thread {
    int tid;
    char name[17];
    double cpu_percent; /* less than zero: not known yet */
    size_t place;       /* in the report's list */
};

struct top_state {
    int tid; /* of the thread that is selected */
    enum top_order order;
    bool paused, all_frames, help, dump, quit;
    size_t scrolled; /* lines of the stack above its window */
};

/* Puts the threads into this order. Equal ones stand by their numbers, so that no row moves without cause. */
void top_state_sort(struct top_thread *threads, size_t count, enum top_order order);

/* The place of the selected thread among these. One that has ended gives way to the main thread, `main_tid`,
 * or the first one. */
size_t top_state_selected(struct top_state *s, const struct top_thread *threads, size_t count, int main_tid);

/* Does what the key asks for. */
void top_state_press(struct top_state *s, enum top_key key, const struct top_thread *threads, size_t count);

#endif
