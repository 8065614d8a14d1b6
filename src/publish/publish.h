/* SPDX-License-Identifier: MIT
 *
 * When a turn is written to the spool, and how the report changes until readers may rely on it. Worker: may
 * wait for the disk. No allocation.
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

/* True: the turn's loop is certain to be the program's. False also once another loop has the slot. */
bool hd_publish_is_certain(const struct hd_run *run, const struct hd_turn *turn);

/* A loop is certain: readers see its deferred reports, and those of turns that last. */
void hd_publish_certain(struct hd_publisher *p, uint8_t slot, uint32_t generation);
/* Another wait is the loop's: its deferred reports are of no hang. Of a turn that lasts the monitor decides.
 */
void hd_publish_void(struct hd_publisher *p, uint8_t slot, uint32_t generation);

/* Writes a report of any kind; the runner writes it where this process may not. 0 or a negative errno value,
 * which the record has then. */
int hd_publish_write(struct hd_publisher *p, const struct hd_report *r, bool deferred);
/* The same for a complete report of no turn, within the caps. */
void hd_publish_write_capped(struct hd_publisher *p, const struct hd_report *r);

/* The run ends: settles deferred reports where no runner does, and writes the session report. */
void hd_publish_session(struct hd_publisher *p);

#endif
