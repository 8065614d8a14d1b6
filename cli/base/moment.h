/* SPDX-License-Identifier: MIT
 *
 * Moments as a user types them: 2h (ago), today, yesterday, 2026-11-20, "2026-11-20 22:50".
 */
#ifndef CLI_MOMENT_H
#define CLI_MOMENT_H

#include <stdbool.h>
#include <time.h>

/* A day without an hour starts at midnight, local time. False: `text` is no moment. */
bool moment_parse(const char *text, time_t now, time_t *moment);

/* UTC, as reports have it: "2026-11-20T22:50:00". In `text`, which is returned. */
#define MOMENT_BYTES 32
const char *moment_write(char text[MOMENT_BYTES], time_t moment);

#endif
