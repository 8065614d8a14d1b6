/* SPDX-License-Identifier: MIT
 *
 * Threads of ours that a stop left: at a disk that does not answer, or about to be gone. On the threads of
 * the program.
 */
#ifndef HD_ABANDONED_H
#define HD_ABANDONED_H

#include <stdbool.h>

#define HD_ATTACH_TABLES_MAX 16 /* that a worker which was left may still look at */

/* A stop left it, if it is there still. 0: none. */
void hd_attach_add_abandoned(int tid);

/* One of them is still there. */
bool hd_attach_has_abandoned(void);
/* Waits until they are gone, for 5 s at most. */
void hd_attach_wait_for_abandoned(void);

#endif
