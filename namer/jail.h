/* SPDX-License-Identifier: MIT
 *
 * What the worker may take and do: it reads hostile files.
 */
#ifndef NAMER_JAIL_H
#define NAMER_JAIL_H

#include <stdbool.h>

enum jail {
    JAIL_READS_OPEN, /* files that are open already */
    JAIL_READS       /* it may open files, for reading only; its caller watches the time */
};

/* CPU time, addresses, no files that grow, no core file; the first process to end where memory is short. For
 * the whole process. */
bool jail_limit(enum jail jail);

/* From now on this process writes, connects to, starts and signals nothing else, and opens what the jail
 * allows: other calls fail with EPERM. */
bool jail_enter(enum jail jail);

#endif
