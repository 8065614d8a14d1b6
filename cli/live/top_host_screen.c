/* SPDX-License-Identifier: MIT */
#include "cli/live/top_host_screen.h"

#include <unistd.h>

#include "cli/base/shell_quote.h"
#include "cli/live/top_host_text.h"
#include "cli/live/top_screen.h"
#include "cli/render/render.h"
#include "os/os.h"

#define PAGE_ROWS 10u

bool top_host_is_there(const char *socket) {
    return access(socket, W_OK) == 0;
}

static bool show_once(struct top_host *h, const char *socket, uint64_t interval_ns, struct problem *why) {
    struct top_host_state s = {0};
    struct top_page page = {0};
    bool well = top_host_fetch(h, socket, why);
    if (well) {
        hd_os_nap(interval_ns);
        well = top_host_fetch(h, socket, why);
    }
    if (well) {
        top_host_sort(h, s.order);
        top_host_text(&page, h, &s, isatty(STDOUT_FILENO) == 1 ? render_width(stdout) : 0, 0);
        top_page_print(stdout, &page);
    }
    top_page_clear(&page);
    return well;
}

/* False: the user ends it. */
static bool press(struct top_host_state *s, enum top_key key) {
    if (s->help && key != TOP_KEY_NONE && key != TOP_KEY_QUIT) {
        s->help = false;
        return true;
    }
    switch (key) {
    case TOP_KEY_UP:
        s->scrolled -= s->scrolled != 0;
        break;
    case TOP_KEY_DOWN:
        s->scrolled++;
        break;
    case TOP_KEY_PAGE_UP:
        s->scrolled -= s->scrolled < PAGE_ROWS ? s->scrolled : PAGE_ROWS;
        break;
    case TOP_KEY_PAGE_DOWN:
        s->scrolled += PAGE_ROWS;
        break;
    case TOP_KEY_SORT:
        s->order = (s->order + 1) % HOST_ORDERS;
        break;
    case TOP_KEY_PAUSE:
        s->paused = !s->paused;
        break;
    case TOP_KEY_HELP:
        s->help = true;
        break;
    default:
        break;
    }
    return key != TOP_KEY_QUIT;
}

static void draw(struct top_host *h, struct top_host_state *s) {
    struct top_page page = {0};
    int width, height;
    top_screen_size(&width, &height);
    top_host_sort(h, s->order);
    top_host_text(&page, h, s, width, height);
    top_screen_draw(&page);
    top_page_clear(&page);
}

/* False, and why: there is no next look. */
static bool show_looks(struct top_host *h, const char *socket, uint64_t interval_ns, struct problem *why) {
    struct top_host_state s = {0};
    uint64_t next_ns = 0;
    for (bool more = true; more;) {
        uint64_t now_ns = hd_os_now_ns();
        if (!s.paused && now_ns >= next_ns) {
            if (!top_host_fetch(h, socket, why)) {
                return false;
            }
            next_ns = now_ns + interval_ns;
        }
        draw(h, &s);
        more = press(&s, top_screen_key(s.paused ? now_ns + interval_ns : next_ns));
    }
    return true;
}

int top_host_show(const char *socket, uint64_t interval_ns, bool once) {
    struct top_host h = {0};
    struct problem why;
    bool well;
    if (once) {
        well = show_once(&h, socket, interval_ns, &why);
    } else if (top_screen_open(&why) != 0) {
        error_try(&why, "%s top --once", shell_own_command());
        well = false;
    } else {
        well = show_looks(&h, socket, interval_ns, &why);
        top_screen_close();
    }
    top_host_free(&h);
    return well ? error_check_stdout("the screen") : error_print(&why);
}
