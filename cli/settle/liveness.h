/* SPDX-License-Identifier: MIT
 *
 * Finds the process that owns a record, and checks whether the owner is alive. Reads /proc.
 */
#ifndef CLI_LIVENESS_H
#define CLI_LIVENESS_H

#include <sys/types.h>

#include "record/record.h"

/* Returns the process id of the record's owner in the caller's PID namespace. The record has the owner's
 * process id in the owner's namespace. 0: the owner is dead. */
pid_t liveness_pid(const struct hd_record *c);

#endif
