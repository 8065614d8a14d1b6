/* SPDX-License-Identifier: MIT
 * Finds the real function behind a function of event_libraries.c: that of the library that the caller would
 * reach without Hangdog.
 */
#ifndef HD_EVENT_TARGETS_H
#define HD_EVENT_TARGETS_H

#include <stdbool.h>

#define HD_EVENT_FUNCTIONS_MAX 16u

/* True: the program is Python, and its modules may load such libraries later. */
bool hd_event_targets_may_come(void);

/* Called once for each function, before the program runs. `ours` is number `which` of `names`, which are
 * NUL-terminated. If no library of the program has the name, and none `may_come`, removes the name from our
 * symbol table. Then no later lookup finds our function. Keeps errno. */
void hd_event_target_resolve(unsigned which, const char *names, const void *ours, bool may_come);

/* The real function for a call from address `caller`; NULL: none. Any thread. Takes the loader's lock only at
 * the first call of a module. Keeps errno. */
void *hd_event_target(unsigned which, const char *names, const void *caller);

#endif
