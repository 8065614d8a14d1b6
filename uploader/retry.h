/* SPDX-License-Identifier: MIT
 *
 * How long to wait before the next attempt: exponential back-off with full jitter, so that many machines do
 * not come back at the same time. Pure.
 */
#ifndef UPLOADER_RETRY_H
#define UPLOADER_RETRY_H

#include <stdint.h>

#define RETRY_FIRST_MS 500
#define RETRY_MOST_MS 60000

/* `attempt`: 0 after the first one failed. `random`: any number. `retry_after_s`: of Retry-After, 0 for none;
 * the wait is not shorter than that. */
int64_t retry_wait_ms(unsigned attempt, uint64_t random, int64_t retry_after_s);

#endif
