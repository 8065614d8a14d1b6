/* SPDX-License-Identifier: MIT */
#include "uploader/retry.h"

int64_t retry_wait_ms(unsigned attempt, uint64_t random, int64_t retry_after_s) {
    int64_t most = RETRY_MOST_MS;
    if (attempt < 7 && ((int64_t)RETRY_FIRST_MS << attempt) < most) {
        most = (int64_t)RETRY_FIRST_MS << attempt;
    }
    return (retry_after_s > 0 ? retry_after_s * 1000 : 0) + (int64_t)(random % (uint64_t)(most + 1));
}
