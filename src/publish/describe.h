/* SPDX-License-Identifier: MIT
 *
 * Fills a report from a turn, and from facts that the worker has read. Writes no file. On the worker thread.
 */
#ifndef HD_DESCRIBE_H
#define HD_DESCRIBE_H

#include "publish/publisher.h"

/* A report, and the memory to which the report's pointers refer. */
struct hd_description {
    struct hd_report report;
    struct hd_cause cause;
    struct hd_monitor_cost cost;
    struct hd_hot_path hot;
};

/* Fills *d with the report of the turn. If not `complete`, the turn still lasts, and the report describes the
 * turn so far. */
void hd_describe_turn(struct hd_publisher *p, struct hd_turn *turn, const struct hd_facts *facts,
                      bool complete, struct hd_description *d);

/* Clears *r, and fills the members that all reports of a run share: program, machine, modules, scripts.
 * Marks the report as complete. */
void hd_describe_run(const struct hd_publisher *p, enum hd_report_kind kind, struct hd_report *r);
/* Adds the captured threads to the report. */
void hd_describe_threads(const struct hd_facts *facts, struct hd_report *r);
/* Adds the process's memory use, and whether a debugger is attached. */
void hd_describe_process(const struct hd_facts *facts, struct hd_report *r);

#endif
