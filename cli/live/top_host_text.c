/* SPDX-License-Identifier: MIT */
#include "cli/live/top_host_text.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/types.h"
#include "cli/base/sanitize.h"
#include "cli/render/render.h"

#define PLACE_COLUMNS 24 /* of the unit or container, on a terminal that is wide enough */
#define NARROW 80

static const char *const order_names[] = {"hangs an hour", "worst turn", "busy", "name"};

static void put_head(struct top_page *page, const struct top_host *h) {
    unsigned frozen = 0;
    uint64_t loops = 0;
    for (size_t i = 0; i < h->count; i++) {
        frozen += h->row[i].frozen_ns != 0;
        loops += h->row[i].loops;
    }
    char own[96] = "";
    if (h->all_users) {
        snprintf(own, sizeof own, "  agent: %.2f%% of a CPU, %.1f MiB",
                 h->cpu_percent > 0 ? h->cpu_percent : 0, (double)h->resident_bytes / (1 << 20));
    }
    top_page_add(page, TOP_BOLD, "%zu program%s%s, %llu loop%s, seen by %s%s", h->count,
                 cli_plural((int64_t)h->count, "", "s"), h->all_users ? "" : " of yours",
                 (unsigned long long)loops, cli_plural((int64_t)loops, "", "s"), h->hook, own);
    if (frozen != 0) {
        top_page_add(page, TOP_ALARM, "%u frozen now", frozen);
    }
    if (h->less[0] != '\0') {
        top_page_add(page, TOP_ALARM, "the agent %s", h->less);
    }
}

static const char *user_name(unsigned uid, char text[32]) {
    const struct passwd *user = getpwuid((uid_t)uid);
    if (user != NULL) {
        snprintf(text, 32, "%s", user->pw_name);
    } else {
        snprintf(text, 32, "%u", uid);
    }
    return text;
}

static void put_row(struct top_page *page, const struct host_row *row, int width) {
    char user[32], worst[RENDER_DURATION_BYTES] = "-", lost[RENDER_DURATION_BYTES] = "-";
    char frozen[RENDER_DURATION_BYTES], busy[64] = "-", rate[16] = "-", place[32] = "";
    if (row->worst_ns != 0) {
        render_duration(worst, (int64_t)row->worst_ns);
    }
    if (row->hangs != 0) {
        render_duration(lost, (int64_t)row->lost_ns);
    }
    if (row->hangs != 0 && row->watched_ns >= 60 * HD_NS_PER_S) {
        snprintf(rate, sizeof rate, "%.1f", host_row_rate(row));
    }
    if (row->busy_percent >= 0) {
        snprintf(busy, sizeof busy, "%.0f%%", row->busy_percent);
    }
    if (row->frozen_ns != 0) {
        snprintf(busy, sizeof busy, "frozen %s", render_duration(frozen, (int64_t)row->frozen_ns));
    }
    if (width > NARROW + PLACE_COLUMNS || width == 0) {
        snprintf(place, sizeof place, "%-*.*s ", PLACE_COLUMNS, PLACE_COLUMNS, row->place);
    }
    top_page_add(page, row->frozen_ns != 0 ? TOP_ALARM : TOP_PLAIN,
                 "%-16.16s %7d %-9.9s %s%5llu %6s %9s %9s %5s", row->name, row->pid,
                 user_name(row->uid, user), place, (unsigned long long)row->hangs, rate, lost, worst, busy);
}

static void put_help(struct top_page *page) {
    static const char text[] =
        "\n"
        "  up, down, page up, page down    move in the list\n"
        "  s            sort by hangs an hour, worst turn, busy, name\n"
        "  space, p     pause, and continue\n"
        "  q            end\n"
        "\n"
        "  HANGS, /h    hangs since the agent watches the program, and those an hour\n"
        "  LOST         their time\n"
        "  WORST        the longest turn, within a factor of two; exact where it was a hang\n"
        "  BUSY         of the time of the program's loops, since the look before\n"
        "\n"
        "  One program in detail: hangdog top PID. Its reports: hangdog list --app NAME\n";
    top_page_add_lines(page, text);
}

void top_host_text(struct top_page *page, const struct top_host *h, struct top_host_state *s, int width,
                   int height) {
    put_head(page, h);
    if (s->help) {
        put_help(page);
    } else {
        top_page_add(page, TOP_DIM, "%-16s %7s %-9s %s%5s %6s %9s %9s %5s", "PROGRAM", "PID", "USER",
                     width > NARROW + PLACE_COLUMNS || width == 0 ? "UNIT                     " : "", "HANGS",
                     "/h", "LOST", "WORST", "BUSY");
        size_t rows =
            height > 0 ? (size_t)height - (page->count + 1 < (size_t)height ? page->count + 1 : 0) : h->count;
        size_t most = h->count > rows ? h->count - rows : 0;
        s->scrolled = s->scrolled < most ? s->scrolled : most;
        for (size_t i = s->scrolled; i < h->count && i - s->scrolled < rows; i++) {
            put_row(page, &h->row[i], width);
        }
    }
    while (height > 0 && page->count + 1 < (size_t)height) {
        top_page_add(page, TOP_PLAIN, "%s", "");
    }
    if (height > 0) {
        top_page_add(page, TOP_DIM,
                     s->help ? "any key: back   q quit" : "q quit   s sort: %s   space %s   h help",
                     order_names[s->order], s->paused ? "continue" : "pause");
    }
}
