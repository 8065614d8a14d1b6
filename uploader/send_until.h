/* SPDX-License-Identifier: MIT
 *
 * A request that is repeated until it has an answer that stays. One thread.
 */
#ifndef UPLOADER_SEND_UNTIL_H
#define UPLOADER_SEND_UNTIL_H

#include "uploader/send.h"

/* Until there is an answer that stays, or the attempts are used up, or the sender is to stop. */
struct send_result send_until(struct sender *s, const void *body, size_t bytes, long retries);

/* Waits so many seconds, or until the sender is to stop. */
void send_wait(const struct sender *s, int64_t seconds);

#endif
