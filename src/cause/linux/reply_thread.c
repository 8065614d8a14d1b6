/* SPDX-License-Identifier: MIT
 *
 * Worker: who asks another process through a thread of a library. No allocation.
 */
#include "cause/linux/reply_thread.h"

#include <string.h>

#include "os/linux/proc_files.h"
#include "os/linux/proc_text.h"

enum how { GDBUS, QDBUS, RESOLVER, QXCB, LIBC_RESOLVER };

static const struct {
    const char *awaited, *thread;
} hows[] = {
    [GDBUS] = {"a reply by D-Bus", "gdbus"},
    [QDBUS] = {"a reply by D-Bus", "QDBusConnection"},
    [RESOLVER] = {"DNS", NULL},
    [LIBC_RESOLVER] = {"DNS", NULL},                        /* on the thread itself */
    [QXCB] = {"a reply of the X server", "QXcbEventQueue"}, /* it reads what comes for all threads */
};

/* By exported names: of other functions nobody knows where they are in the process. */
static const struct {
    const char *symbol, *shown; /* to a person; NULL: the symbol */
    enum how how;
} requests[] = {
    {"g_bus_get_sync", NULL, GDBUS},
    {"g_dbus_connection_call_sync", NULL, GDBUS},
    {"g_dbus_connection_call_with_unix_fd_list_sync", NULL, GDBUS},
    {"g_dbus_connection_flush_sync", NULL, GDBUS},
    {"g_dbus_connection_send_message_with_reply_sync", NULL, GDBUS},
    {"g_dbus_object_manager_client_new_for_bus_sync", NULL, GDBUS},
    {"g_dbus_object_manager_client_new_sync", NULL, GDBUS},
    {"g_dbus_proxy_call_sync", NULL, GDBUS},
    {"g_dbus_proxy_call_with_unix_fd_list_sync", NULL, GDBUS},
    {"g_dbus_proxy_new_for_bus_sync", NULL, GDBUS},
    {"g_dbus_proxy_new_sync", NULL, GDBUS},
    {"g_socket_client_connect", NULL, RESOLVER}, /* the lookup itself leaves no exported name on the stack */
    {"g_socket_client_connect_to_host", NULL, RESOLVER},
    {"g_socket_client_connect_to_service", NULL, RESOLVER},
    {"g_socket_client_connect_to_uri", NULL, RESOLVER},
    {"_ZN14QDBusInterfaceC1ERK7QStringS2_S2_RK15QDBusConnectionP7QObject", "QDBusInterface::QDBusInterface",
     QDBUS},
    {"_ZN16QDBusPendingCall15waitForFinishedEv", "QDBusPendingCall::waitForFinished", QDBUS},
    {"_ZN22QDBusAbstractInterface20callWithArgumentListEN5QDBus8CallModeERK7QStringRK5QListI8QVariantE",
     "QDBusAbstractInterface::callWithArgumentList", QDBUS},
    {"_ZNK15QDBusConnection4callERK12QDBusMessageN5QDBus8CallModeEi", "QDBusConnection::call", QDBUS},
    {"getaddrinfo", NULL, LIBC_RESOLVER},
    {"gethostbyname_r", NULL, LIBC_RESOLVER}, /* gethostbyname calls it */
    {"gethostbyaddr_r", NULL, LIBC_RESOLVER}, /* and so do gethostbyaddr and getnameinfo */
    {"xcb_request_check", NULL, QXCB},
    {"xcb_wait_for_reply", NULL, QXCB},
    {"xcb_wait_for_reply64", NULL, QXCB},
};

static const char *symbol(uint32_t index) {
    return index < sizeof requests / sizeof requests[0] ? requests[index].symbol : NULL;
}

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

/* Between the function that asks and the call that waits lie its own library, those beside it, the system's,
 * the one that makes the call, and the preload. All else was called back: it waits for what it likes. */
static bool calls_back(struct hd_modules *m, const struct hd_frame *frames, uint32_t asks) {
    int library = module_of(m, &frames[asks]), call = module_of(m, &frames[0]);
    for (uint32_t i = 0; i < asks; i++) {
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

const char *hd_reply_find(struct hd_functions *known, struct hd_modules *m, const struct hd_frame *frames,
                          uint32_t count, struct hd_probe *out) {
    uint32_t i = 0;
    int found = -1;
    for (; i < count && (found = hd_functions_at(known, m, symbol, frames[i].start)) < 0; i++) {
    }
    if (found < 0 || calls_back(m, frames, i)) {
        return NULL;
    }
    for (int library = module_of(m, &frames[i]); i < count && module_of(m, &frames[i]) == library; i++) {
        int at = hd_functions_at(known, m, symbol, frames[i].start);
        found = at >= 0 ? at : found;
    }
    bool socket = out->fd_kind == HD_FD_INET || out->fd_kind == HD_FD_UNIX;
    if (socket != (requests[found].how == LIBC_RESOLVER)) {
        return NULL; /* another thread's socket is not seen here; a connection of the thread's own is no DNS
                      */
    }
    out->request = requests[found].shown != NULL ? requests[found].shown : requests[found].symbol;
    out->display = requests[found].how == QXCB;
    out->awaited = hows[requests[found].how].awaited;
    return hows[requests[found].how].thread;
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
    struct hd_proc_tasks tasks;
    int tid;
    hd_proc_tasks_start(&tasks, proc_fd);
    do {
        tid = hd_proc_tasks_next(&tasks);
    } while (tid != 0 && !(is_named(proc_fd, tid, name) && hd_thread_syscall(proc_fd, tid, out)));
    hd_proc_tasks_end(&tasks);
    return tid;
}
