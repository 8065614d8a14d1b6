/* SPDX-License-Identifier: MIT
 *
 * Threads that are watched beside the main one because the user names them (--thread): each when it waits and
 * has such a name, until it ends. A name may come late, from the thread or from its maker, so a thread that
 * is not watched looks at its own when it waits, at most each 100 ms.
 */
#ifndef HD_NAMED_THREADS_H
#define HD_NAMED_THREADS_H

#include "preload/waits/recognition.h"
#include "preload/waits/wait_table.h"

struct hd_named;
extern struct hd_named *hd_named; /* NULL: nobody is named. Wiped in a forked child, where nobody is either */

/* The constructor's. */
void hd_named_init(struct hd_record *r);

/* The calling thread is about to wait and is not watched: true when it is from now on. errno stays. */
bool hd_named_look(void);

/* The monitor is stopped, and another one may come: nobody is watched. */
void hd_named_forget(void);

/* As the recogniser's of one thread: the monitor's, and the worker's. The latter tells how well the best
 * known loop is known, as hd_recognise does. `blocked`: only its thread was found so, as with
 * hd_recognition_blocked; no tools are needed. */
bool hd_named_due(uint64_t now_ns);
uint32_t hd_named_recognise(const struct hd_stack_tools *tools, const struct hd_loop *blocked,
                            struct hd_blocked *how);

#endif
