/* SPDX-License-Identifier: MIT
 *
 * Threads of Python's module threading, on CPython 3.11 to 3.14: their names, and for which one a thread
 * waits. Call hd_scripts_expand before. Worker, or another process; no allocation, no lock.
 */
#ifndef HD_JOINS_H
#define HD_JOINS_H

#include "script/script.h"

/* The thread for whose end this one waits, in Thread.join or at exit, both by the process's numbers; 0: none.
 */
int hd_scripts_joined(struct hd_scripts *s, int tid);
/* The next thread, from `*at` 0 on, with its name in Python. False: no more. */
bool hd_scripts_next_thread(const struct hd_scripts *s, uint32_t *at, int *tid, char *name, size_t size);

#endif
