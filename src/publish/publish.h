/* SPDX-License-Identifier: MIT
 *
 * Writes the report of a turn, publishes it once its loop is certain, and withdraws it if the turn proves to
 * be no hang. May wait for the disk. Allocates nothing. On the worker thread.
 */
#ifndef HD_PUBLISH_H
#define HD_PUBLISH_H

#include "publish/publisher.h"

/* Call it when the turn becomes a hang: gives the turn's report an id. */
void hd_publish_open(const struct hd_publisher *p, struct hd_turn *turn);
/* Writes the final report of the hang, or, if not `complete`, the report of the hang so far. */
void hd_publish(struct hd_publisher *p, struct hd_turn *turn, const struct hd_facts *facts, bool complete);
/* The turn proved to be no hang: removes its report. */
void hd_publish_withdraw(struct hd_publisher *p, struct hd_turn *turn);
/* Writes the report of a long frame that was no hang. The turn must have ended, and gets no other report. */
void hd_publish_frame(struct hd_publisher *p, struct hd_turn *turn, const struct hd_facts *facts);

/* True: the turn's loop is certain. False also if another loop has the slot by now. */
bool hd_publish_is_certain(const struct hd_run *run, const struct hd_turn *turn);

/* The loop of this slot and generation became certain. Readers see its deferred reports from now on, and
 * the report of an open hang as well. */
void hd_publish_certain(struct hd_publisher *p, uint8_t slot, uint32_t generation);
/* One wait was assumed to be the loop's own, but another wait proved to be. Withdraws the deferred reports of
 * this slot and generation. Does not withdraw the report of an open hang, because the monitor decides about
 * that hang. */
void hd_publish_void(struct hd_publisher *p, uint8_t slot, uint32_t generation);

/* Writes a report of any kind. If this process has no right to write it, passes the report to the runner.
 * Counts the report, or the failure, in the record. Returns 0 or a negative errno value. */
int hd_publish_write(struct hd_publisher *p, const struct hd_report *r, bool deferred);
/* Writes a complete report that belongs to no turn, if the caps allow it. */
void hd_publish_write_capped(struct hd_publisher *p, const struct hd_report *r);

/* Call it at the end of the run. Writes the session report, unless the runner does. Where no runner waits
 * for the process, publishes or withdraws each deferred report as well. */
void hd_publish_session(struct hd_publisher *p);

#endif
