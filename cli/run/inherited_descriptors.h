/* SPDX-License-Identifier: MIT
 *
 * Descriptors that the runner was started with: the program's, and a pipe or a lock is only let go when
 * nobody holds it. Ordinary code.
 */
#ifndef CLI_INHERITED_DESCRIPTORS_H
#define CLI_INHERITED_DESCRIPTORS_H

/* Before we open any of our own. */
void inherited_find(void);
/* When the program has its own copies. Standard error stays, and what a lock hangs on. */
void inherited_close(void);

#endif
