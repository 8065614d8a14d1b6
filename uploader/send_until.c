/* SPDX-License-Identifier: MIT */
#include "uploader/send.h"

#include <sys/random.h>
#include <time.h>

int64_t send_retry_wait_ms(unsigned attempt, uint64_t random, int64_t retry_after_s) {
    int64_t most = RETRY_MOST_MS;
    if (attempt < 7 && ((int64_t)RETRY_FIRST_MS << attempt) < most) {
        most = (int64_t)RETRY_FIRST_MS << attempt;
    }
    return (retry_after_s > 0 ? retry_after_s * 1000 : 0) + (int64_t)(random % (uint64_t)(most + 1));
}

#define LONGEST_WAIT_S 3600

/* Whether to try again after this answer. */
static bool may_pass(long status) {
    return status == 0 || status == 408 || status == 429 || status >= 500;
}

static void wait_ms(const struct sender *s, int64_t ms) {
    const struct timespec step = {.tv_nsec = 50 * 1000000};
    for (int64_t waited = 0; waited < ms && *send_stop(s) == 0; waited += 50) {
        nanosleep(&step, NULL);
    }
}

static uint64_t random_number(void) {
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number) {
        number = (uint64_t)time(NULL);
    }
    return number;
}

struct send_result send_until(struct sender *s, const void *body, size_t bytes, long retries) {
    struct send_result result = send_body(s, body, bytes);
    for (unsigned attempt = 0; may_pass(result.status) && attempt < retries && *send_stop(s) == 0;
         attempt++) {
        if (result.retry_after_s > LONGEST_WAIT_S) {
            break;
        }
        wait_ms(s, send_retry_wait_ms(attempt, random_number(), result.retry_after_s));
        if (*send_stop(s) == 0) {
            result = send_body(s, body, bytes);
        }
    }
    return result;
}

void send_wait(const struct sender *s, int64_t seconds) {
    wait_ms(s, (seconds < LONGEST_WAIT_S ? seconds : LONGEST_WAIT_S) * 1000);
}
