/* SPDX-License-Identifier: MIT
 *
 * The Mach port of each thread that Hangdog looks at. An id is unique; a port's name is the handle that
 * hd_mach takes. The table owns the rights. Wait-free: any thread may call these functions.
 */
#ifndef HD_THREAD_PORTS_H
#define HD_THREAD_PORTS_H

#include "os/darwin/mach.h"
#include "os/thread_id.h"

/* Watched threads, and the newest list of all threads. */
#define HD_THREAD_PORTS_MAX (HD_MACH_THREADS_MAX + 128u)

/* Returns the port of a thread; 0: the table does not have it. The port stays valid until the thread's last
 * entry is dropped. */
hd_port hd_thread_port(hd_thread_id thread);
/* Stores a port, and takes over the caller's right to it. A thread may have several entries, each with a
 * right of its own. Returns false if the table is full: the caller keeps its right. */
bool hd_thread_port_keep(hd_thread_id thread, hd_port port);
/* Removes one entry with this port, and releases its right. */
void hd_thread_port_drop(hd_thread_id thread, hd_port port);
/* Makes the table empty in a forked child, and releases nothing. The names are the parent's: in the child,
 * the same names may be those of other rights. */
void hd_thread_ports_forget(void);

#endif
