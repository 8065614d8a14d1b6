/* SPDX-License-Identifier: MIT
 *
 * Stacks and modules of a Sentry event as those of a report. Events are hostile input. Pure.
 */
#ifndef COLLECTOR_SENTRY_STACK_H
#define COLLECTOR_SENTRY_STACK_H

#include <jansson.h>

/* The report's frames, innermost first: at most 256, the innermost ones. A script's function has its
 * language; native code has its module and offset. The caller calls json_decref. */
json_t *sentry_stack_frames(const json_t *event, const json_t *stacktrace);

/* The report's modules, in the order of the event's images. The caller calls json_decref. */
json_t *sentry_stack_modules(const json_t *event);

#endif
