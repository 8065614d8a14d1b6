/* SPDX-License-Identifier: MIT
 *
 * Writes the report of a turn, publishes it once its loop is certain, and withdraws it if the turn proves to
 * be no hang. The disk may block the worker here. The worker allocates no memory. On the worker thread.
 */
#ifndef HD_PUBLISH_H
#define HD_PUBLISH_H

#include "publish/publisher.h"

/* Call it when the turn becomes a hang. Gives the turn's report an id. */
void hd_publish_open(const struct hd_publisher *p, struct hd_turn *turn);
/* If `complete`, writes the final report of the hang; otherwise the report of the hang so far. */
void hd_publish(struct hd_publisher *p, struct hd_turn *turn, const struct hd_facts *facts, bool complete);
/* Call it when the turn proves to be no hang. Removes the turn's report. */
void hd_publish_withdraw(struct hd_publisher *p, struct hd_turn *turn);
/* Writes the report of a long display frame: a turn that is longer than settings.frame_drop_ns, and no hang.
 * Call it after the turn has ended. The turn gets no other report. */
void hd_publish_frame(struct hd_publisher *p, struct hd_turn *turn, const struct hd_facts *facts);

/* True: the turn's loop is certain. False also if another loop has the slot by now. */
bool hd_publish_is_certain(const struct hd_run *run, const struct hd_turn *turn);

/* Call it when the loop of this slot and generation has become certain. Readers see the loop's deferred
 * reports from now on, and the report of the loop's open hang as well. */
void hd_publish_certain(struct hd_publisher *p, uint8_t slot, uint32_t generation);
/* Call it when the loop of this slot and generation proves not to be the program's, because another wait is
 * the loop's own. Withdraws the loop's deferred reports. Does not withdraw the report of an open hang,
 * because the monitor decides about that hang. */
void hd_publish_void(struct hd_publisher *p, uint8_t slot, uint32_t generation);

/* Writes a report of any kind. If the rights or limits of this process forbid the write, passes the report to
 * the runner, unless the report is `deferred`. Counts the report, or the failure, in the record. Returns 0 or
 * a negative errno value. */
int hd_publish_write(struct hd_publisher *p, const struct hd_report *r, bool deferred);
/* Writes a complete report that belongs to no turn, if the caps allow it. */
void hd_publish_write_capped(struct hd_publisher *p, const struct hd_report *r);

/* Call it at the end of the run. Writes the session report, unless the runner writes it. If no runner waits
 * for the process, also publishes or withdraws each deferred report. */
void hd_publish_session(struct hd_publisher *p);

#endif
