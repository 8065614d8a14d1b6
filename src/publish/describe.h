/* SPDX-License-Identifier: MIT
 *
 * From a turn, and what the worker has read, to the document of a report. Nothing is written. Worker.
 */
#ifndef HD_DESCRIBE_H
#define HD_DESCRIBE_H

#include "publish/publisher.h"

/* A report and all that it points to. */
struct hd_description {
    struct hd_report report;
    struct hd_cause cause;
    struct hd_monitor_cost cost;
    struct hd_hot_path hot;
};

/* The turn so far, or the complete turn. */
void hd_describe_turn(struct hd_publisher *p, struct hd_turn *turn, const struct hd_facts *facts,
                      bool complete, struct hd_description *d);

/* A complete report of this kind with what all reports of the run have: program, machine, modules, scripts.
 */
void hd_describe_run(const struct hd_publisher *p, enum hd_report_kind kind, struct hd_report *r);
/* Adds the other threads, and the figures of the process. */
void hd_describe_threads(const struct hd_facts *facts, struct hd_report *r);
void hd_describe_process(const struct hd_facts *facts, struct hd_report *r);

#endif
