/* SPDX-License-Identifier: MIT
 *
 * In a PID namespace of its own, a process has other numbers for its threads.
 */
#ifndef CLI_OUTSIDE_NUMBERS_H
#define CLI_OUTSIDE_NUMBERS_H

/* `process`: a struct outside_process. From the number of a thread here to the process's own, and back. 0:
 * there is no such thread. */
int numbers_own(void *process, int tid);
int numbers_called(void *process, int own_tid);

#endif
