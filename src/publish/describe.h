/* SPDX-License-Identifier: MIT
 *
 * Makes the document of a report from a turn, and from facts that the worker has read. Writes no file. On the
 * worker thread.
 */
#ifndef HD_DESCRIBE_H
#define HD_DESCRIBE_H

#include "publish/publisher.h"

/* A report, and all that its pointers refer to. */
struct hd_description {
    struct hd_report report;
    struct hd_cause cause;
    struct hd_monitor_cost cost;
    struct hd_hot_path hot;
};

/* Describes the turn so far, or the complete turn. */
void hd_describe_turn(struct hd_publisher *p, struct hd_turn *turn, const struct hd_facts *facts,
                      bool complete, struct hd_description *d);

/* Makes a complete report of this kind, with the members that all reports of a run share: program, machine,
 * modules, scripts. */
void hd_describe_run(const struct hd_publisher *p, enum hd_report_kind kind, struct hd_report *r);
/* Add the other threads; the memory and the debugger of the process. */
void hd_describe_threads(const struct hd_facts *facts, struct hd_report *r);
void hd_describe_process(const struct hd_facts *facts, struct hd_report *r);

#endif
