/* SPDX-License-Identifier: MIT
 *
 * The life of a turn's report: written, deferred, published, complete, or withdrawn. Worker: may wait for the
 * disk. No allocation.
 */
#ifndef HD_PUBLISH_H
#define HD_PUBLISH_H

#include "publish/publisher.h"

/* The turn becomes a hang: its report gets an id. */
void hd_publish_open(const struct hd_publisher *p, struct hd_turn *turn);
/* Writes the report of the hang so far, or the complete one. */
void hd_publish(struct hd_publisher *p, struct hd_turn *turn, const struct hd_facts *facts, bool complete);
/* The turn was not a hang: removes its report. */
void hd_publish_withdraw(struct hd_publisher *p, struct hd_turn *turn);
/* Writes the one report of a turn that has ended, and was a long frame but no hang. */
void hd_publish_frame(struct hd_publisher *p, struct hd_turn *turn, const struct hd_facts *facts);

/* True: the turn's loop is certain to be the program's. False also if another loop has its slot by now. */
bool hd_publish_is_certain(const struct hd_run *run, const struct hd_turn *turn);

/* The loop became certain: readers see its deferred reports from now on, and the report of an open hang. */
void hd_publish_certain(struct hd_publisher *p, uint8_t slot, uint32_t generation);
/* Another wait proved to be the loop's: withdraws its deferred reports. The monitor decides about a hang that
 * is still open. */
void hd_publish_void(struct hd_publisher *p, uint8_t slot, uint32_t generation);

/* Writes a report of any kind. If this process may not write it, the runner does. Returns 0 or a negative
 * errno value; the record counts both. */
int hd_publish_write(struct hd_publisher *p, const struct hd_report *r, bool deferred);
/* Writes a complete report that is of no turn, within the caps. */
void hd_publish_write_capped(struct hd_publisher *p, const struct hd_report *r);

/* The run ends: settles deferred reports where no runner does, and writes the session report. */
void hd_publish_session(struct hd_publisher *p);

#endif
