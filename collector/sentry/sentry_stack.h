/* SPDX-License-Identifier: MIT
 *
 * Stacks and modules of a Sentry event as those of a report. Events are hostile input. Pure.
 */
#ifndef COLLECTOR_SENTRY_STACK_H
#define COLLECTOR_SENTRY_STACK_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define SENTRY_IMAGES_MAX 1024

/* The event's images by address, read once for all stacks of the event. */
struct sentry_images {
    size_t count;
    struct sentry_image {
        uint64_t base, last; /* first and last address of the image */
        int index;           /* in the event's list */
    } image[SENTRY_IMAGES_MAX];
};
void sentry_stack_images(const json_t *event, struct sentry_images *images);

/* The report's frames, innermost first: at most 256, the innermost ones. A script's function has its
 * language; native code has its module and offset. The caller calls json_decref. */
json_t *sentry_stack_frames(const json_t *event, const struct sentry_images *images,
                            const json_t *stacktrace);

/* The report's modules, in the order of the event's images. The caller calls json_decref. */
json_t *sentry_stack_modules(const json_t *event);

#endif
