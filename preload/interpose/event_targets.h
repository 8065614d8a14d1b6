/* SPDX-License-Identifier: MIT
 *
 * Which function stands behind one of event_libraries.c's: that of the library that the caller would have
 * reached without us.
 */
#ifndef HD_EVENT_TARGETS_H
#define HD_EVENT_TARGETS_H

#include <stdbool.h>

#define HD_EVENT_FUNCTIONS_MAX 16u

/* The program is Python, which opens such libraries by its modules. */
bool hd_event_targets_may_come(void);

/* Ordinary code, once for each function, before the program runs: `ours` is number `which` of `names`, each
 * with its NUL. Where no library of the program has the name, and none `may_come`, it leaves our symbol
 * table: neither the program's lookups nor those of the libraries that it opens meet it. errno is kept. */
void hd_event_target_resolve(unsigned which, const char *names, const void *ours, bool may_come);

/* Behind that function, for a call from the address `caller`. NULL: there is none. Any thread; no lock but at
 * the first call of a module. errno is kept. */
void *hd_event_target(unsigned which, const char *names, const void *caller);

#endif
