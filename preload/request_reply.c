/* SPDX-License-Identifier: MIT
 *
 * The table of request-reply functions. No allocation, no lock; may run while a hang is on.
 */
#include "request_reply.h"

/* Not among them, though they wait too: xcb_wait_for_event and _XReadEvents, by which events arrive. */
static const char *const names[] = {
    "xcb_wait_for_reply",
    "xcb_wait_for_reply64",
    "xcb_wait_for_special_event", /* one kind of event, for whoever presents a frame */
    "xcb_request_check",
    "xcb_writev",
    "xcb_flush",
    "xcb_connect_to_fd",
    "_XReply",
    "_XSend",
    "_XFlush",
    "wl_display_roundtrip",
    "wl_display_roundtrip_queue",
};

void hd_request_reply_reset(struct hd_request_reply *t) {
    t->modules = 0;
    t->count = 0;
}

static void look_up(struct hd_request_reply *t, struct hd_modules *m, uint32_t module) {
    for (unsigned i = 0; i < sizeof names / sizeof names[0] && t->count < HD_REQUEST_REPLY_MAX; i++) {
        uint64_t start = hd_module_symbol(m, module, names[i]);
        if (start != 0) {
            t->start[t->count++] = start;
        }
    }
}

bool hd_request_reply_asks(struct hd_request_reply *t, struct hd_modules *m, uint64_t start) {
    for (; t->modules < m->count; t->modules++) {
        look_up(t, m, t->modules);
    }
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->start[i] == start) {
            return true;
        }
    }
    return false;
}
