/* SPDX-License-Identifier: MIT
 *
 * Reports in the spool: repeats, caps, the session. Worker.
 */
#ifndef HD_PUBLISH_H
#define HD_PUBLISH_H

#include "worker/worker.h"

/* Writes what is known of hang h: as it stands, or complete. */
void hd_publish(struct hd_worker *k, struct hd_turn *h, bool complete);
/* A turn that is over and was a long frame: one whole report, and no hang. */
void hd_publish_frame(struct hd_worker *k, struct hd_turn *h);
void hd_publish_withdraw(struct hd_worker *k, struct hd_turn *h); /* it was none */
void hd_publish_session(struct hd_worker *k);
/* A report with what all reports of the run have: program, machine, tables of modules and scripts. */
void hd_publish_prepare(struct hd_worker *k, enum hd_report_kind kind, struct hd_report *r);
/* The threads that were captured last. */
void hd_publish_threads(const struct hd_worker *k, struct hd_report *r);
/* Writes it, by the runner where this process may not. 0 or an error. */
int hd_publish_write(struct hd_worker *k, const struct hd_report *r, bool deferred);

#endif
