/* SPDX-License-Identifier: MIT
 *
 * Whose a record is. Ordinary code.
 */
#ifndef CLI_LIVENESS_H
#define CLI_LIVENESS_H

#include <sys/types.h>

#include "record/record.h"

/* The number here of the process that took the record, which may be in a namespace of its own; 0: it is gone.
 */
pid_t liveness_pid(const struct hd_record *c);

#endif
