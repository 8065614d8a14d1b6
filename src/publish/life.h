/* SPDX-License-Identifier: MIT
 *
 * The file by which the next run finishes this run's reports, if the process dies without a runner. On
 * Apple's systems the record is a mapped file of the spool. The next run with this spool and this name reads
 * the file. An open hang becomes a fatal hang, and a session report says how the dead run ended. On Linux the
 * runner does so, or a reader of the spool: there these functions do nothing. On the worker thread.
 */
#ifndef HD_LIFE_H
#define HD_LIFE_H

#include "publish/publisher.h"

/* Finishes the reports of the run before, and starts the file of this run. Call it once the spool is open. */
void hd_life_start(struct hd_publisher *p);
/* Call it after a crash's report is written. */
void hd_life_store_crash(void);
/* Call it when the worker has read the state of the process. */
void hd_life_store_process(bool debugger);
/* Call it at the end of the run: the file is unlocked, and the record stays mapped. */
void hd_life_end(void);

#endif
