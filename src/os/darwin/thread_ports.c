/* SPDX-License-Identifier: MIT
 *
 * An entry is free, claimed by a thread that fills or empties it, or in use. Only an entry in use has an id.
 */
#include "os/darwin/thread_ports.h"

#include <stdatomic.h>

static struct {
    _Atomic uint64_t id; /* 0: no thread's */
    _Atomic hd_port port;
    _Atomic bool claimed;
} entries[HD_THREAD_PORTS_MAX];

hd_port hd_thread_port(hd_thread_id thread) {
    if (hd_thread_id_is_none(thread)) {
        return 0;
    }
    for (unsigned i = 0; i < HD_THREAD_PORTS_MAX; i++) {
        if (atomic_load(&entries[i].id) == thread.number) {
            hd_port port = atomic_load(&entries[i].port);
            if (atomic_load(&entries[i].id) == thread.number) {
                return port;
            }
        }
    }
    return 0;
}

bool hd_thread_port_keep(hd_thread_id thread, hd_port port) {
    for (unsigned i = 0; i < HD_THREAD_PORTS_MAX; i++) {
        if (!atomic_exchange(&entries[i].claimed, true)) {
            atomic_store(&entries[i].port, port);
            atomic_store(&entries[i].id, thread.number);
            return true;
        }
    }
    return false;
}

void hd_thread_port_drop(hd_thread_id thread, hd_port port) {
    for (unsigned i = 0; i < HD_THREAD_PORTS_MAX; i++) {
        uint64_t id = thread.number;
        if (atomic_load(&entries[i].port) == port && atomic_compare_exchange_strong(&entries[i].id, &id, 0)) {
            atomic_store(&entries[i].port, 0);
            atomic_store(&entries[i].claimed, false);
            hd_mach.release(port);
            return;
        }
    }
}

void hd_thread_ports_forget(void) {
    for (unsigned i = 0; i < HD_THREAD_PORTS_MAX; i++) {
        atomic_store(&entries[i].id, 0);
        atomic_store(&entries[i].port, 0);
        atomic_store(&entries[i].claimed, false);
    }
}
