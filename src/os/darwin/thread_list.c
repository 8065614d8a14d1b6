/* SPDX-License-Identifier: MIT
 *
 * The walk keeps the ports of the newest list in the table of ports, so that other functions find a thread's
 * port by its id. Only the worker walks: one list at a time.
 */
#include "os/thread_list.h"

#include <string.h>

#include "os/darwin/mach.h"
#include "os/darwin/thread_ports.h"

_Static_assert(sizeof((struct hd_thread_list *)0)->entries >= HD_MACH_THREADS_MAX * sizeof(uint64_t),
               "the list has space for all threads");

/* The threads of the newest list, and their ports. */
static struct {
    hd_thread_id thread[HD_MACH_THREADS_MAX];
    hd_port port[HD_MACH_THREADS_MAX];
    uint32_t count;
} newest;

static void drop_newest(void) {
    for (uint32_t i = 0; i < newest.count; i++) {
        hd_thread_port_drop(newest.thread[i], newest.port[i]);
    }
    newest.count = 0;
}

void hd_thread_list_start(struct hd_thread_list *t, int proc_fd) {
    hd_port ports[HD_MACH_THREADS_MAX];
    (void)proc_fd;
    t->fd = -1;
    t->bytes = 0;
    drop_newest();
    int count = hd_mach.threads(ports, HD_MACH_THREADS_MAX);
    for (int i = 0; i < count && i < (int)HD_MACH_THREADS_MAX; i++) {
        struct hd_mach_thread info;
        bool known = hd_mach.thread(ports[i], &info) == 0;
        if (known && hd_thread_port_keep(hd_thread_id_of(info.id), ports[i])) {
            newest.thread[newest.count] = hd_thread_id_of(info.id);
            newest.port[newest.count++] = ports[i];
            memcpy(t->entries + t->bytes, &info.id, sizeof info.id);
            t->bytes += (long)sizeof info.id;
        } else {
            hd_mach.release(ports[i]);
        }
    }
    t->at = t->bytes;
}

/* The newest thread comes first: a process with many threads started most of them long ago. */
hd_thread_id hd_thread_list_next(struct hd_thread_list *t) {
    uint64_t id;
    if (t->at == 0) {
        return HD_THREAD_ID_NONE;
    }
    t->at -= (long)sizeof id;
    memcpy(&id, t->entries + t->at, sizeof id);
    return hd_thread_id_of(id);
}

void hd_thread_list_end(struct hd_thread_list *t) {
    t->at = 0;
}

void hd_thread_name(int proc_fd, hd_thread_id thread, char *name, size_t size) {
    struct hd_mach_thread info = {0};
    (void)proc_fd;
    hd_port port = hd_thread_port(thread);
    size_t n = port != 0 && hd_mach.thread_times(port, &info) == 0 ? strnlen(info.name, size - 1) : 0;
    memcpy(name, info.name, n);
    name[n] = '\0';
}
