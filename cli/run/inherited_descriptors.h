/* SPDX-License-Identifier: MIT
 * Descriptors that the runner inherited. They are meant for the program: a pipe ends, and a lock is released,
 * only when no process has them open. So the runner closes its copies. Main thread.
 */
#ifndef CLI_INHERITED_DESCRIPTORS_H
#define CLI_INHERITED_DESCRIPTORS_H

/* Call before the runner opens descriptors. */
void inherited_find(void);
/* Call after the fork of the program. Keeps stderr, and files on which the runner has a POSIX lock. */
void inherited_close(void);

#endif
