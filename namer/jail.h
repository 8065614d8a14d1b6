/* SPDX-License-Identifier: MIT
 *
 * What the worker may take and do: it reads hostile files.
 */
#ifndef NAMER_JAIL_H
#define NAMER_JAIL_H

#include <stdbool.h>

/* CPU time, addresses, no files that grow, no core file; the first process to end where memory is short. For
 * the whole process. */
bool jail_limit(void);

/* From now on this process opens, connects to, starts and signals nothing: such calls fail with EPERM. */
bool jail_enter(void);

#endif
