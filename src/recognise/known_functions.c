/* SPDX-License-Identifier: MIT
 *
 * The tables. Names are as the libraries of Debian 12 export them; a static copy with hidden names has
 * none, and is known by what it waits for. No allocation, no lock; may run while a hang is on.
 */
#include "recognise/known_functions.h"

#include <string.h>

/* A wait below one of these is a call. Not among them, though they wait too: xcb_wait_for_event and
 * _XReadEvents, by which events arrive. */
static const char *const requests[] = {
    "xcb_wait_for_reply",
    "xcb_wait_for_reply64",
    "xcb_wait_for_special_event", /* one kind of event, for a client that presents a frame */
    "xcb_request_check",
    "xcb_writev",
    "xcb_flush",
    "xcb_connect_to_fd",
    "_XReply",
    "_XSend",
    "_XFlush",
    "wl_display_roundtrip",
    "wl_display_roundtrip_queue",
    "g_spawn_sync",
    "g_bus_get_sync",
    "g_dbus_connection_call_sync",
    "g_dbus_connection_call_with_unix_fd_list_sync",
    "g_dbus_connection_flush_sync",
    "g_dbus_connection_send_message_with_reply_sync",
    "g_dbus_proxy_call_sync",
    "g_dbus_proxy_new_sync",
    "g_dbus_proxy_new_for_bus_sync",
    "g_subprocess_communicate",
    "g_subprocess_wait",
    "g_socket_condition_timed_wait",
    "g_socket_condition_wait",
    "g_socket_client_connect",
    "dbus_connection_send_with_reply_and_block",
    "sd_bus_call",
    "curl_easy_perform",
    "PQexec",
    "PQexecParams",
    "PQexecPrepared",
    "PQgetResult",
    "PQconnectdb",
    "PQconnectdbParams",
    "PQprepare",
    "_ZN8QProcess15waitForFinishedEi",
    "_ZN8QProcess14waitForStartedEi",
    "_ZN8QProcess16waitForReadyReadEi",
    "_ZN15QAbstractSocket16waitForConnectedEi",
    "_ZN15QAbstractSocket16waitForReadyReadEi",
    "_ZN12QLocalSocket16waitForConnectedEi",
    "_ZN12QLocalSocket16waitForReadyReadEi",
    "_ZN4node17SyncProcessRunner3RunEN2v85LocalINS1_5ValueEEE",
    "_ZN4node17SyncProcessRunner5SpawnERKN2v820FunctionCallbackInfoINS1_5ValueEEE",
    "rb_io_wait",
    "rb_wait_for_single_fd",
    "rb_thread_wait_for_single_fd",
    "rb_thread_wait_for",
    "rb_thread_sleep",
    "rb_thread_sleep_forever",
};

/* These run a loop to its end, and call the program back within. */
static const char *const whole_loops[] = {
    "uv_run", "g_main_loop_run", "g_application_run", /* calls the one before, which waits: not the innermost
                                                       */
    "ev_run", "event_base_loop", "sd_event_loop",     "ecore_main_loop_begin",
};

/* These run one turn, or wait for one event: the program calls them in a loop of its own. */
static const char *const loop_turns[] = {
    "g_main_context_iteration",
    "sd_event_wait",
    "sd_event_run",
    "_ZN20QEventDispatcherUNIX13processEventsE6QFlagsIN10QEventLoop17ProcessEventsFlagEE",
    "Tcl_WaitForEvent",
    "Tcl_DoOneEvent",
    "SDL_WaitEvent",
    "SDL_WaitEventTimeout",
    "xcb_wait_for_event",
    "_XReadEvents",
    "XtAppNextEvent",
    "XtAppProcessEvent",
    "wl_display_dispatch",
    "wl_display_dispatch_queue",
    "wl_event_loop_dispatch",
    "glfwWaitEvents",
    "glfwWaitEventsTimeout",
    "_ZN2Fl4waitEd",
    "dbus_connection_read_write_dispatch",
};

#define REQUESTS (sizeof requests / sizeof requests[0])
#define WHOLE_LOOPS (sizeof whole_loops / sizeof whole_loops[0])
#define LOOP_TURNS (sizeof loop_turns / sizeof loop_turns[0])
_Static_assert(REQUESTS + WHOLE_LOOPS + LOOP_TURNS <= HD_FUNCTIONS_MAX, "each may be found");

static const char *name(uint32_t index) {
    return index < REQUESTS                              ? requests[index]
           : index < REQUESTS + WHOLE_LOOPS              ? whole_loops[index - REQUESTS]
           : index < REQUESTS + WHOLE_LOOPS + LOOP_TURNS ? loop_turns[index - REQUESTS - WHOLE_LOOPS]
                                                         : NULL;
}

static bool is_request(int index) {
    return index >= 0 && index < (int)REQUESTS;
}

static int module_of(struct hd_modules *m, const struct hd_frame *frame) {
    return hd_modules_at(m, hd_frame_lookup_pc(frame));
}

static bool has_name(const struct hd_modules *m, int module, const char *part) {
    return module >= 0 && strstr(hd_module_path(m, (uint32_t)module), part) != NULL;
}

/* libgio waits for a reply by a loop of its own; only below g_application_run it runs the program's. `i`: the
 * loop function's frame. */
static bool is_synchronous(struct hd_functions *known, struct hd_modules *m, const struct hd_frame *frames,
                           uint32_t count, uint32_t i) {
    int loop = module_of(m, &frames[i]);
    while (i < count && module_of(m, &frames[i]) == loop) {
        i++;
    }
    int caller = i < count ? module_of(m, &frames[i]) : -1;
    if (!has_name(m, caller, "libgio-2.0")) {
        return false;
    }
    for (; i < count && module_of(m, &frames[i]) == caller; i++) {
        int at = hd_functions_at(known, m, name, frames[i].start);
        if (at >= 0 && strcmp(name((uint32_t)at), "g_application_run") == 0) {
            return false;
        }
    }
    return true;
}

/* In our own builds with a sanitizer: its interceptor of the wait, which calls ours. */
static bool is_interceptor(const struct hd_modules *m, int module) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return has_name(m, module, "/libasan.so") || has_name(m, module, "/libtsan.so");
#else
    (void)m, (void)module;
    return false;
#endif
}

/* The frame of a loop function that the wait belongs to; `count`: none. libX11 waits by libxcb, which calls
 * nothing back: these count as one library. */
static uint32_t loop_frame(struct hd_functions *known, struct hd_modules *m, const struct hd_frame *frames,
                           uint32_t count) {
    int ours = count > 0 ? module_of(m, &frames[0]) : -1, library = -1;
    for (uint32_t i = 0; i < count; i++) {
        int in = module_of(m, &frames[i]);
        if (library < 0 && (in == ours || is_interceptor(m, in))) {
            continue;
        }
        bool above = library >= 0 && has_name(m, library, "libxcb.so") && has_name(m, in, "libX11.so");
        if (in < 0 || (library >= 0 && in != library && !above)) {
            return count;
        }
        library = in;
        if (hd_functions_at(known, m, name, frames[i].start) >= (int)REQUESTS) {
            return i;
        }
    }
    return count;
}

enum hd_wait_evidence hd_known_function(struct hd_functions *known, struct hd_modules *m,
                                        const struct hd_frame *frames, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (is_request(hd_functions_at(known, m, name, frames[i].start))) {
            return HD_EVIDENCE_ASKS;
        }
    }
    uint32_t i = loop_frame(known, m, frames, count);
    if (i == count) {
        return HD_EVIDENCE_PLAIN;
    }
    return is_synchronous(known, m, frames, count, i) ? HD_EVIDENCE_ASKS : HD_EVIDENCE_BY_NAME;
}

bool hd_known_loop_encloses(struct hd_functions *known, struct hd_modules *m, const struct hd_frame *frames,
                            uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        int at = hd_functions_at(known, m, name, frames[i].start);
        if (at >= (int)REQUESTS && at < (int)(REQUESTS + WHOLE_LOOPS)) {
            return true;
        }
    }
    return false;
}
