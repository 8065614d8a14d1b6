/* SPDX-License-Identifier: MIT
 *
 * The record has one hang at a time, and counts all: one that began and ended between two looks has its
 * duration from the sum. Ordinary code.
 */
#include "cli/live/top_watch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/reader/own_frame.h"
#include "cli/render/render_parts.h"

#define SEARCHES 3     /* at the first looks; then at each so many */
#define SEARCH_EACH 15 /* a program may begin to be watched later */
#define NS_PER_HOUR 3.6e12
#define RATE_FROM_NS (60 * HD_NS_PER_S) /* of a younger process an hourly rate says nothing */

/* ---- looking ---------------------------------------------------------------------------------- */

static bool find(struct top_watch *w, const struct live_process *p) {
    bool due = w->looks < SEARCHES || w->looks % SEARCH_EACH == 0;
    w->looks++;
    if (!due || !run_view_find(&w->view, p)) {
        return false;
    }
    w->looks = 0;
    memset(w->history, 0, sizeof w->history);
    w->before = (struct run_hangs){0};
    return true;
}

static struct top_hang *newest(struct top_watch *w) {
    return w->hangs != 0 ? &w->hang[(w->hangs - 1) % TOP_HANGS] : NULL;
}

static struct top_hang *add(struct top_watch *w, uint64_t since_ns, const char *when) {
    struct top_hang *h = &w->hang[w->hangs++ % TOP_HANGS];
    *h = (struct top_hang){.since_ns = since_ns};
    snprintf(h->when, sizeof h->when, "%s", when);
    return h;
}

void top_watch_note(struct top_watch *w, const struct run_hangs *now, const char *function,
                    const char *when) {
    struct top_hang *h = newest(w);
    uint64_t ended = now->count > w->before.count ? now->count - w->before.count : 0;
    uint64_t lost_ns = now->lost_ns > w->before.lost_ns ? now->lost_ns - w->before.lost_ns : 0;
    bool first = !w->is_watched; /* hangs before the first look are only counted */
    if (h != NULL && h->lasts && (!now->lasts || now->since_ns != h->since_ns)) {
        h->lasts = false;
        h->for_ns = ended == 1 ? lost_ns : h->for_ns; /* its last word, where nothing else ended */
    } else if (ended != 0 && !first) {
        h = add(w, 0, when);
        h->for_ns = lost_ns / ended;
    }
    h = newest(w);
    if (now->lasts) {
        if (h == NULL || !h->lasts || h->since_ns != now->since_ns) {
            h = add(w, now->since_ns, when);
        }
        h->lasts = true;
        h->for_ns = now->for_ns;
        if (function != NULL) {
            snprintf(h->function, sizeof h->function, "%s", function);
        }
    }
    w->before = *now;
}

/* The function of the loop that has the longest running turn. The caller frees it; NULL: there is none. */
static char *function_now(const struct top_watch *w, const json_t *report) {
    const struct run_loop *longest = NULL;
    for (size_t i = 0; i < w->view.loops; i++) {
        const struct run_loop *l = &w->view.loop[i];
        longest = longest == NULL || l->running_ns > longest->running_ns ? l : longest;
    }
    const json_t *thread = longest != NULL ? render_thread(report, longest->tid) : NULL;
    const json_t *frames = json_object_get(json_object_get(thread, "stack"), "frames");
    const json_t *own = frames != NULL ? report_own_frame_of(report, frames) : NULL;
    const struct render_options plain = {.width = 0};
    const struct page page = {.report = report, .options = &plain};
    return own != NULL ? render_function(&page, own, 60) : NULL;
}

void top_watch_look(struct top_watch *w, const struct live_process *p, const json_t *report, uint64_t up_ns) {
    char when[RENDER_TIME_BYTES];
    bool has = w->view.place != 0 && run_view_read(&w->view, p);
    if (!has) {
        w->is_watched = false;
        w->view.place = 0;
        has = find(w, p) && run_view_read(&w->view, p);
    }
    if (!has) {
        return;
    }
    for (size_t i = 0; i < w->view.loops; i++) {
        loop_history_add(&w->history[i], &w->view.loop[i], w->view.at_ns);
    }
    char *function = w->view.hangs.lasts ? function_now(w, report) : NULL;
    top_watch_note(w, &w->view.hangs, function, render_clock(when, value_text(report, "started_at")));
    free(function);
    w->up_ns = up_ns;
    w->is_watched = true;
}

/* ---- text ------------------------------------------------------------------------------------- */

static void put_loop(const struct top_watch *w, struct top_page *page, size_t i, bool with_frames) {
    const struct run_loop *l = &w->view.loop[i];
    struct loop_figures f;
    char median[RENDER_DURATION_BYTES] = "-", p99[RENDER_DURATION_BYTES] = "-";
    char worst[RENDER_DURATION_BYTES + 1] = "-", number[32], busy[16] = "-", turns[32] = "-", frames[32] = "";
    loop_figures(&w->history[i], &f);
    bool exact = loop_figures_limit(&f, w->view.hangs.longest_ns) && w->view.loops == 1;
    if (f.busy_percent >= 0) {
        snprintf(busy, sizeof busy, "%.0f%%", f.busy_percent);
        snprintf(turns, sizeof turns, "%.0f", f.turns_per_s);
    }
    if (f.median_ns != 0) {
        render_duration(median, (int64_t)f.median_ns);
        render_duration(p99, (int64_t)f.p99_ns);
    }
    if (f.worst_ns != 0) {
        worst[0] = '<';
        render_duration(exact ? worst : worst + 1, (int64_t)f.worst_ns);
    }
    if (with_frames) {
        snprintf(frames, sizeof frames, "  %8.0f", f.frames_per_s >= 0 ? f.frames_per_s : 0);
    }
    snprintf(number, sizeof number, "%d", l->tid);
    top_page_add(page, TOP_PLAIN, "  %-7s %-16.16s %4s  %8s  %8s  %8s  %9s%s", number, l->name, busy, turns,
                 median, p99, worst, frames);
}

static void put_loops(const struct top_watch *w, struct top_page *page, size_t rows) {
    bool with_frames = false;
    for (size_t i = 0; i < w->view.loops; i++) {
        with_frames |= w->view.loop[i].frames != 0;
    }
    top_page_add(page, TOP_DIM, "  %-7s %-16s %4s  %8s  %8s  %8s  %9s%s", "LOOP", "NAME", "BUSY", "TURNS/s",
                 "MEDIAN", "P99", "WORST", with_frames ? "  FRAMES/s" : "");
    for (size_t i = 0; i < w->view.loops && i < rows; i++) {
        put_loop(w, page, i, with_frames);
    }
    size_t shown = w->view.loops < rows ? w->view.loops : rows, hidden = w->view.loops - shown + w->view.more;
    if (hidden != 0) {
        top_page_add(page, TOP_DIM, "  (%zu more loops)", hidden);
    }
}

static void put_hang(struct top_page *page, const struct top_hang *h) {
    char text[RENDER_DURATION_BYTES];
    render_duration(text, (int64_t)h->for_ns);
    const char *in = h->function[0] != '\0' ? " in " : "";
    if (h->lasts) {
        top_page_add(page, TOP_ALARM, "  frozen for %s, still going%s%s", text, in, h->function);
    } else {
        top_page_add(page, TOP_PLAIN, "  %s  hang of %s%s%s", h->when, text, in, h->function);
    }
}

void top_watch_text(const struct top_watch *w, struct top_page *page, size_t rows) {
    char lost[RENDER_DURATION_BYTES], rate[64] = "";
    uint64_t count = w->view.hangs.count;
    if (!w->is_watched) {
        return;
    }
    put_loops(w, page, rows);
    if (count == 0) {
        top_page_add(page, TOP_PLAIN, w->view.hangs.lasts ? "HANGS" : "HANGS  none so far");
    } else {
        double an_hour = (double)count * NS_PER_HOUR / (double)w->up_ns;
        if (w->up_ns >= RATE_FROM_NS) {
            snprintf(rate, sizeof rate, ", %.*f an hour", an_hour < 10 ? 1 : 0, an_hour);
        }
        top_page_add(page, TOP_BOLD, "HANGS  %" PRIu64 ", %s lost%s", count,
                     render_duration(lost, (int64_t)w->view.hangs.lost_ns), rate);
    }
    for (size_t i = 0; i < TOP_HANGS && i < w->hangs; i++) {
        put_hang(page, &w->hang[(w->hangs - 1 - i) % TOP_HANGS]);
    }
}
