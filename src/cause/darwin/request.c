/* SPDX-License-Identifier: MIT */
#include "cause/darwin/request.h"

#include "os/darwin/syscall_number.h"
#include "os/syscall_table.h"

enum kind {
    XPC,
    DNS,
    MESSAGE,
    RUN_LOOP
};

/* The exported functions that wait for a reply. A run loop is in the list, since it ends the search. */
/* clang-format off */
#define REQUESTS(X) \
    X("xpc_connection_send_message_with_reply_sync", XPC) \
    X("xpc_session_send_message_with_reply_sync", XPC) \
    X("getaddrinfo", DNS) \
    X("getnameinfo", DNS) \
    X("gethostbyname", DNS) \
    X("gethostbyname2", DNS) \
    X("gethostbyaddr", DNS) \
    X("CFMessagePortSendRequest", MESSAGE) \
    X("bootstrap_look_up", MESSAGE) \
    X("CFRunLoopRun", RUN_LOOP) \
    X("CFRunLoopRunInMode", RUN_LOOP) \
    X("CFRunLoopRunSpecific", RUN_LOOP) \
    X("CFRunLoopRunSpecificWithOptions", RUN_LOOP)
/* clang-format on */

#define SYMBOL(symbol, kind) symbol "\0"
#define KIND(symbol, kind) kind,
static const char symbols[] = REQUESTS(SYMBOL);
static const uint8_t kinds[] = {REQUESTS(KIND)};

static const char *awaited_by(enum kind kind) {
    return kind == XPC ? "a reply by XPC" : kind == DNS ? "DNS" : "a reply by a Mach message";
}

bool hd_request_is_message(int32_t nr) {
    return nr == HD_DARWIN_MACH_MSG || nr == HD_DARWIN_MACH_MSG2 || nr == HD_DARWIN_MACH_MSG_OVERWRITE;
}

/* Returns the index of the outermost request that the system's libraries make for the program; -1: none. The
 * first frame of the program ends the search: what it waits for is not known by the functions below it. */
static int find_request(struct hd_probe_context *ctx, const struct hd_frame *frames, uint32_t count) {
    int found = -1;
    for (uint32_t i = 0; i < count && frames[i].script == 0; i++) {
        int module = hd_modules_at(ctx->modules, hd_frame_lookup_pc(&frames[i]));
        if (module < 0 || !hd_module_is_system(ctx->modules, (uint32_t)module)) {
            break;
        }
        int at = hd_functions_at(&ctx->replies, ctx->modules, symbols, frames[i].start);
        found = at >= 0 ? at : found;
        if (found >= 0 && kinds[found] == RUN_LOOP) {
            break;
        }
    }
    return found;
}

void hd_request_find(struct hd_probe_context *ctx, int32_t nr, const struct hd_frame *frames, uint32_t count,
                     struct hd_probe *out) {
    bool message = hd_request_is_message(nr);
    int found = find_request(ctx, frames, count);
    enum kind kind = found >= 0 ? (enum kind)kinds[found] : MESSAGE;
    if (kind == RUN_LOOP || (found < 0 && !message) || (!message && kind != DNS)) {
        return;
    }
    out->peer.awaited = awaited_by(kind);
    out->peer.request = found >= 0 ? hd_functions_name(symbols, (uint32_t)found) : hd_syscall_name(nr);
}
