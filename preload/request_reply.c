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

static const char *name(uint32_t index) {
    return index < sizeof names / sizeof names[0] ? names[index] : NULL;
}

bool hd_request_reply_asks(struct hd_functions *known, struct hd_modules *m, uint64_t start) {
    return hd_functions_at(known, m, name, start) >= 0;
}
