/* SPDX-License-Identifier: MIT */
#include "cause/linux/reply_thread.h"

#include <string.h>

#include "base/text.h"
#include "cause/linux/bus_name.h"
#include "os/linux/proc_files.h"
#include "os/linux/proc_text.h"
#include "os/thread_list.h"

#define MIME_FRAMES 8 /* at most, from QInternalMimeData to QClipboard, which is in another library */

enum library {
    GDBUS = HD_BUS_GLIB,
    QDBUS = HD_BUS_QT,
    LIBDBUS = HD_BUS_LIBDBUS,
    SDBUS = HD_BUS_SYSTEMD,
    RESOLVER,
    QXCB,
    LIBC_RESOLVER,
    QCLIPBOARD,
    QMIME
};

/* For each library: the reply in words for the user, and the name of the library's thread that reads the
 * reply. The name is empty if no thread with a known name reads the reply. The names are arrays of bytes and
 * not pointers, because the loader would have to relocate each pointer in the watched process. */
static const struct {
    char awaited[24], thread[16];
} libraries[] = {
    [GDBUS] = {"a reply by D-Bus", "gdbus"},
    [QDBUS] = {"a reply by D-Bus", "QDBusConnection"},
    [LIBDBUS] = {"a reply by D-Bus", ""},
    [SDBUS] = {"a reply by D-Bus", ""},
    [RESOLVER] = {"DNS", ""},
    [LIBC_RESOLVER] = {"DNS", ""},
    [QXCB] = {"a reply of the X server", "QXcbEventQueue"},
    [QCLIPBOARD] = {"the clipboard's owner", ""},
    [QMIME] = {"the owner of the data", ""}, /* of the clipboard, or of what the user drags */
};

/* The functions that wait for a reply. All are exported, because Hangdog reads names from the process's
 * memory, which has only the names of exported functions. The second column is the name that the user sees;
 * empty: the name in the first column.
 *
 * The function that looks up a name for g_socket_client_connect is not exported, so g_socket_client_connect
 * is listed instead. There is no row for gethostbyname, which calls gethostbyname_r, nor for gethostbyaddr
 * and getnameinfo, which call gethostbyaddr_r. */
/* clang-format off */
#define REQUESTS(X) \
    X("g_bus_get_sync", "", GDBUS) \
    X("g_dbus_connection_call_sync", "", GDBUS) \
    X("g_dbus_connection_call_with_unix_fd_list_sync", "", GDBUS) \
    X("g_dbus_connection_flush_sync", "", GDBUS) \
    X("g_dbus_connection_send_message_with_reply_sync", "", GDBUS) \
    X("g_dbus_object_manager_client_new_for_bus_sync", "", GDBUS) \
    X("g_dbus_object_manager_client_new_sync", "", GDBUS) \
    X("g_dbus_proxy_call_sync", "", GDBUS) \
    X("g_dbus_proxy_call_with_unix_fd_list_sync", "", GDBUS) \
    X("g_dbus_proxy_new_for_bus_sync", "", GDBUS) \
    X("g_dbus_proxy_new_sync", "", GDBUS) \
    X("g_socket_client_connect", "", RESOLVER) \
    X("g_socket_client_connect_to_host", "", RESOLVER) \
    X("g_socket_client_connect_to_service", "", RESOLVER) \
    X("g_socket_client_connect_to_uri", "", RESOLVER) \
    X("_ZN14QDBusInterfaceC1ERK7QStringS2_S2_RK15QDBusConnectionP7QObject", \
      "QDBusInterface::QDBusInterface", QDBUS) \
    X("_ZN16QDBusPendingCall15waitForFinishedEv", "QDBusPendingCall::waitForFinished", QDBUS) \
    X("_ZN22QDBusAbstractInterface20callWithArgumentListEN5QDBus8CallModeERK7QStringRK5QListI8QVariantE", \
      "QDBusAbstractInterface::callWithArgumentList", QDBUS) \
    X("_ZNK15QDBusConnection4callERK12QDBusMessageN5QDBus8CallModeEi", "QDBusConnection::call", QDBUS) \
    X("_ZNK10QClipboard4textENS_4ModeE", "QClipboard::text", QCLIPBOARD) \
    X("_ZNK10QClipboard4textER7QStringNS_4ModeE", "QClipboard::text", QCLIPBOARD) \
    X("_ZNK10QClipboard5imageENS_4ModeE", "QClipboard::image", QCLIPBOARD) \
    X("_ZNK10QClipboard6pixmapENS_4ModeE", "QClipboard::pixmap", QCLIPBOARD) \
    X("_ZNK10QClipboard8mimeDataENS_4ModeE", "QClipboard::mimeData", QCLIPBOARD) \
    X("_ZNK17QInternalMimeData12retrieveDataERK7QStringN8QVariant4TypeE", "QMimeData::retrieveData", QMIME) \
    X("_ZNK17QInternalMimeData12retrieveDataERK7QString9QMetaType", "QMimeData::retrieveData", QMIME) \
    X("_ZNK17QInternalMimeData7formatsEv", "QMimeData::formats", QMIME) \
    X("_ZNK17QInternalMimeData9hasFormatERK7QString", "QMimeData::hasFormat", QMIME) \
    X("dbus_connection_send_with_reply_and_block", "", LIBDBUS) \
    X("dbus_pending_call_block", "", LIBDBUS) \
    X("sd_bus_call", "", SDBUS) \
    X("sd_bus_call_method", "", SDBUS) \
    X("sd_bus_get_property", "", SDBUS) \
    X("getaddrinfo", "", LIBC_RESOLVER) \
    X("gethostbyname_r", "", LIBC_RESOLVER) \
    X("gethostbyaddr_r", "", LIBC_RESOLVER) \
    X("xcb_request_check", "", QXCB) \
    X("xcb_wait_for_reply", "", QXCB) \
    X("xcb_wait_for_reply64", "", QXCB)
/* clang-format on */

#define SYMBOL(symbol, shown, library) symbol "\0"
#define SHOWN(symbol, shown, library) shown "\0"
#define LIBRARY(symbol, shown, library) library,
static const char symbols[] = REQUESTS(SYMBOL);
static const char shown[] = REQUESTS(SHOWN);
static const uint8_t library_of[] = {REQUESTS(LIBRARY)};

static int module_of(struct hd_modules *m, const struct hd_frame *f) {
    return hd_modules_at(m, hd_frame_lookup_pc(f));
}

static bool in_one_folder(const char *a, const char *b) {
    size_t folder = 0;
    for (size_t i = 0; a[i] != '\0' && a[i] == b[i]; i++) {
        folder = a[i] == '/' ? i + 1 : folder;
    }
    return folder > 0 && memchr(a + folder, '/', strlen(a + folder)) == NULL &&
           memchr(b + folder, '/', strlen(b + folder)) == NULL;
}

/* True: a callback of the program is on the stack, between the request's function and the blocked system
 * call. The callback may wait for anything, not only for the reply. A frame is no callback if its module is a
 * system library, or is in the folder of the request's library. A frame in the module that makes the system
 * call, such as the preload, is no callback either. */
static bool calls_back(struct hd_modules *m, const struct hd_frame *frames, uint32_t requests) {
    int library = module_of(m, &frames[requests]), call = module_of(m, &frames[0]);
    for (uint32_t i = 0; i < requests; i++) {
        int in = module_of(m, &frames[i]);
        if (in < 0 || frames[i].script != 0) {
            return true;
        }
        const char *path = hd_module_path(m, (uint32_t)in);
        bool passed = in == call && !m->module[in].main_program;
        if (!passed && in != library && !hd_module_is_system(m, (uint32_t)in) &&
            !in_one_folder(hd_module_path(m, (uint32_t)library), path)) {
            return true;
        }
    }
    return false;
}

/* True: the requesting thread waits for the reply as the library does. Libc's resolver and sd-bus wait at a
 * socket of that thread. libdbus does so too, or waits for another thread that reads the socket. All other
 * requests wait for a library's thread, which has the socket. */
static bool fits(enum library library, enum hd_fd_kind kind) {
    bool socket = kind == HD_FD_INET || kind == HD_FD_UNIX;
    return library == LIBDBUS || socket == (library == LIBC_RESOLVER || library == SDBUS);
}

/* Stores the D-Bus service as the party. The message is in the frames up to `request`, or in those of the two
 * callers of `request`. */
static void find_service(struct hd_modules *m, const struct hd_capture *c, const struct hd_frame *frames,
                         uint32_t count, uint32_t request, enum library library, struct hd_probe *out) {
    struct hd_bus_message message;
    char text[64];
    struct hd_text t;
    uint32_t end = c->stack_bytes, callers = 0;
    for (uint32_t i = request + 1; i < count && callers < 3; i++) {
        if (frames[i].script == 0 && ++callers == 3) {
            end = frames[i].at;
        }
    }
    end = end < c->stack_bytes ? end : c->stack_bytes;
    if (library > SDBUS || !hd_bus_name_find(&m->memory, c, end, (enum hd_bus_library)library, &message)) {
        return;
    }
    hd_text_init(&t, text, sizeof text);
    hd_text_str(&t, message.service);
    if (message.service[0] == ':' && message.interface[0] != '\0') {
        /* a unique name, such as ":1.42", says nothing about the service */
        hd_text_str(&t, " (");
        hd_text_str(&t, message.interface);
        hd_text_str(&t, ")");
    }
    hd_evidence_set_party(out, HD_PARTY_SERVICE, 0, text);
}

const char *hd_reply_find(struct hd_functions *known, struct hd_modules *m, const struct hd_capture *c,
                          const struct hd_frame *frames, uint32_t count, struct hd_probe *out) {
    uint32_t i = 0;
    int found = -1;
    for (; i < count && (found = hd_functions_at(known, m, symbols, frames[i].start)) < 0; i++) {
    }
    if (found < 0 || calls_back(m, frames, i)) {
        return NULL;
    }
    uint32_t outermost = i;
    for (int module = module_of(m, &frames[i]); i < count && module_of(m, &frames[i]) == module; i++) {
        int at = hd_functions_at(known, m, symbols, frames[i].start);
        found = at >= 0 ? at : found;
        outermost = at >= 0 ? i : outermost;
    }
    enum library library = (enum library)library_of[found];
    for (uint32_t next = i; library == QMIME && next < count && next < i + MIME_FRAMES; next++) {
        int at = hd_functions_at(known, m, symbols, frames[next].start);
        found = at >= 0 && library_of[at] == QCLIPBOARD ? at : found;
    }
    library = (enum library)library_of[found];
    if (!fits(library, hd_evidence_fd_kind(out))) {
        return NULL;
    }
    find_service(m, c, frames, count, outermost, library, out);
    const char *request = hd_functions_name(shown, (uint32_t)found);
    out->peer.request = request[0] != '\0' ? request : hd_functions_name(symbols, (uint32_t)found);
    out->peer.display = library == QXCB;
    out->peer.awaited = libraries[library].awaited;
    return libraries[library].thread[0] != '\0' ? libraries[library].thread : NULL;
}

bool hd_reply_is_of_resolver(const struct hd_probe *p) {
    enum hd_fd_kind kind = hd_evidence_fd_kind(p);
    return p->peer.awaited == libraries[LIBC_RESOLVER].awaited && (kind == HD_FD_INET || kind == HD_FD_UNIX);
}

/* ---- the thread that waits for the reply ------------------------------------------------------ */

static bool is_named(int proc_fd, int tid, const char *name) {
    char comm[32];
    size_t length = strlen(name);
    long n = hd_proc_read_task(proc_fd, tid, "comm", comm, sizeof comm);
    return n == (long)length + 1 && memcmp(comm, name, length) == 0;
}

bool hd_thread_syscall(int proc_fd, int tid, struct hd_capture *out) {
    char text[HD_PROC_SYSCALL_BYTES];
    struct hd_proc_syscall call;
    long n = hd_proc_read_task(proc_fd, tid, "syscall", text, sizeof text);
    if (n <= 0 || !hd_proc_parse_syscall(text, (size_t)n, &call)) {
        return false;
    }
    *out = (struct hd_capture){.syscall_nr = call.nr};
    memcpy(out->syscall_args, call.args, sizeof out->syscall_args);
    return true;
}

int hd_reply_thread_find(int proc_fd, const char *name, struct hd_capture *out) {
    struct hd_thread_list list;
    int tid;
    hd_thread_list_start(&list, proc_fd);
    do {
        tid = (int)hd_thread_list_next(&list).number;
    } while (tid != 0 && !(is_named(proc_fd, tid, name) && hd_thread_syscall(proc_fd, tid, out)));
    hd_thread_list_end(&list);
    return tid;
}
