/* SPDX-License-Identifier: MIT
 *
 * The sums of a spool in Prometheus' text format, for node_exporter's textfile collector. They are gauges:
 * they fall where reports leave the spool.
 */
#ifndef CLI_EXPORT_PROMETHEUS_H
#define CLI_EXPORT_PROMETHEUS_H

#include <jansson.h>
#include <stdio.h>

/* `before`, and name="value" with the value as a label has it. */
void export_put_label(FILE *out, const char *before, const char *name, const char *value);

#endif
