/* SPDX-License-Identifier: MIT
 *
 * Limits of the process that reads hostile files: resources and system calls.
 */
#ifndef NAMER_JAIL_H
#define NAMER_JAIL_H

#include <stdbool.h>

enum jail {
    JAIL_READS_OPEN, /* files that are open already */
    JAIL_READS       /* files to open for reading; the caller limits the time */
};

/* Limits CPU time and address space, forbids growing files and a core file, and makes this process the
 * kernel's first victim if memory is short. For the whole process. */
bool jail_limit(enum jail jail);

/* From now on this process writes, connects to, starts and signals nothing else, and opens what the jail
 * allows: other calls fail with EPERM. */
bool jail_enter(enum jail jail);

#endif
