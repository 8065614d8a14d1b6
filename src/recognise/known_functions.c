/* SPDX-License-Identifier: MIT
 *
 * The tables in this file name functions as the libraries of Debian 12 export them. If a library is linked
 * statically, it may hide its functions' names. In that case the kinds of descriptors are the only evidence.
 */
#include "recognise/known_functions.h"

#include <string.h>

/* These functions send a request and wait for its reply. Loops read their events by xcb_wait_for_event and
 * _XReadEvents, so these two are not in the table. But the table has xcb_wait_for_special_event: a program
 * that shows an image waits in it for the X server's answer. */
/* clang-format off */
#define REQUESTS(X) \
    X("xcb_wait_for_reply") \
    X("xcb_wait_for_reply64") \
    X("xcb_wait_for_special_event") \
    X("xcb_request_check") \
    X("xcb_writev") \
    X("xcb_flush") \
    X("xcb_connect_to_fd") \
    X("_XReply") \
    X("_XSend") \
    X("_XFlush") \
    X("wl_display_roundtrip") \
    X("wl_display_roundtrip_queue") \
    X("g_spawn_sync") \
    X("g_bus_get_sync") \
    X("g_dbus_connection_call_sync") \
    X("g_dbus_connection_call_with_unix_fd_list_sync") \
    X("g_dbus_connection_flush_sync") \
    X("g_dbus_connection_send_message_with_reply_sync") \
    X("g_dbus_proxy_call_sync") \
    X("g_dbus_proxy_new_sync") \
    X("g_dbus_proxy_new_for_bus_sync") \
    X("g_subprocess_communicate") \
    X("g_subprocess_wait") \
    X("g_socket_condition_timed_wait") \
    X("g_socket_condition_wait") \
    X("g_socket_client_connect") \
    X("dbus_connection_send_with_reply_and_block") \
    X("sd_bus_call") \
    X("curl_easy_perform") \
    X("PQexec") \
    X("PQexecParams") \
    X("PQexecPrepared") \
    X("PQgetResult") \
    X("PQconnectdb") \
    X("PQconnectdbParams") \
    X("PQprepare") \
    X("_ZN8QProcess15waitForFinishedEi") \
    X("_ZN8QProcess14waitForStartedEi") \
    X("_ZN8QProcess16waitForReadyReadEi") \
    X("_ZN15QAbstractSocket16waitForConnectedEi") \
    X("_ZN15QAbstractSocket16waitForReadyReadEi") \
    X("_ZN12QLocalSocket16waitForConnectedEi") \
    X("_ZN12QLocalSocket16waitForReadyReadEi") \
    X("_ZN4node17SyncProcessRunner3RunEN2v85LocalINS1_5ValueEEE") \
    X("_ZN4node17SyncProcessRunner5SpawnERKN2v820FunctionCallbackInfoINS1_5ValueEEE") \
    X("rb_io_wait") \
    X("rb_wait_for_single_fd") \
    X("rb_thread_wait_for_single_fd") \
    X("rb_thread_wait_for") \
    X("rb_thread_sleep") \
    X("rb_thread_sleep_forever")
/* clang-format on */

/* These functions run a loop until the loop ends, and call callbacks of the program in each turn. */
/* clang-format off */
#define WHOLE_LOOPS(X) \
    X("uv_run") \
    X("g_main_loop_run") \
    X("g_application_run") \
    X("ev_run") \
    X("event_base_loop") \
    X("sd_event_loop") \
    X("ecore_main_loop_begin")
/* clang-format on */

/* These functions run one turn, or wait for one event. The program calls them in a loop of its own. */
/* clang-format off */
#define LOOP_TURNS(X) \
    X("g_main_context_iteration") \
    X("sd_event_wait") \
    X("sd_event_run") \
    X("_ZN20QEventDispatcherUNIX13processEventsE6QFlagsIN10QEventLoop17ProcessEventsFlagEE") \
    X("Tcl_WaitForEvent") \
    X("Tcl_DoOneEvent") \
    X("SDL_WaitEvent") \
    X("SDL_WaitEventTimeout") \
    X("xcb_wait_for_event") \
    X("_XReadEvents") \
    X("XtAppNextEvent") \
    X("XtAppProcessEvent") \
    X("wl_display_dispatch") \
    X("wl_display_dispatch_queue") \
    X("wl_event_loop_dispatch") \
    X("glfwWaitEvents") \
    X("glfwWaitEventsTimeout") \
    X("_ZN2Fl4waitEd") \
    X("dbus_connection_read_write_dispatch")
/* clang-format on */

#define NAME(name) name "\0"
static const char names[] = REQUESTS(NAME) WHOLE_LOOPS(NAME) LOOP_TURNS(NAME);

#define ONE(name) +1 // NOLINT(bugprone-macro-parentheses): terms of a sum
enum {
    FIRST_LOOP = 0 REQUESTS(ONE),
    FIRST_TURN = FIRST_LOOP WHOLE_LOOPS(ONE),
    ALL = FIRST_TURN LOOP_TURNS(ONE)
};
_Static_assert(ALL <= HD_FUNCTIONS_MAX, "each function can be found");

static bool is_request(int index) {
    return index >= 0 && index < FIRST_LOOP;
}

static int module_of(struct hd_modules *m, const struct hd_frame *frame) {
    return hd_modules_at(m, hd_frame_lookup_pc(frame));
}

static bool has_name(const struct hd_modules *m, int module, const char *part) {
    return module >= 0 && strstr(hd_module_path(m, (uint32_t)module), part) != NULL;
}

/* True if a function of libgio calls the loop function of frame `i`, to wait for a reply. False if the caller
 * is g_application_run, because this function of libgio runs the program's own loop. */
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
        int at = hd_functions_at(known, m, names, frames[i].start);
        if (at >= 0 && strcmp(hd_functions_name(names, (uint32_t)at), "g_application_run") == 0) {
            return false;
        }
    }
    return true;
}

/* True if the module is a sanitizer's runtime. In a build with a sanitizer, the program calls the wait
 * function of the runtime, and this function calls Hangdog's wrapper. So the runtime does not count as the
 * library that makes the wait. */
static bool is_interceptor(const struct hd_modules *m, int module) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return has_name(m, module, "/libasan.so") || has_name(m, module, "/libtsan.so");
#else
    (void)m, (void)module;
    return false;
#endif
}

/* Returns the index of the frame of the loop function that makes the wait; `count` if there is none. All
 * frames from the wait out to this frame must be in one library. The libraries libX11 and libxcb count as one
 * library, because libX11 calls libxcb to wait, and libxcb calls no callback. */
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
        if (hd_functions_at(known, m, names, frames[i].start) >= FIRST_LOOP) {
            return i;
        }
    }
    return count;
}

enum hd_wait_evidence hd_known_function(struct hd_functions *known, struct hd_modules *m,
                                        const struct hd_frame *frames, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (is_request(hd_functions_at(known, m, names, frames[i].start))) {
            return HD_WAIT_EVIDENCE_REQUEST;
        }
    }
    uint32_t i = loop_frame(known, m, frames, count);
    if (i == count) {
        return HD_WAIT_EVIDENCE_PLAIN;
    }
    return is_synchronous(known, m, frames, count, i) ? HD_WAIT_EVIDENCE_REQUEST : HD_WAIT_EVIDENCE_BY_NAME;
}

bool hd_known_loop_encloses(struct hd_functions *known, struct hd_modules *m, const struct hd_frame *frames,
                            uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        int at = hd_functions_at(known, m, names, frames[i].start);
        if (at >= FIRST_LOOP && at < FIRST_TURN) {
            return true;
        }
    }
    return false;
}
