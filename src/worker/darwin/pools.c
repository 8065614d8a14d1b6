/* SPDX-License-Identifier: MIT
 *
 * Pools are not watched here: a read of a thread's state would suspend the thread. The setting `pools` is
 * off, so no message comes. On the worker thread.
 */
#include "worker/pools.h"

void hd_pools_look(struct hd_worker *worker, const struct hd_message *msg) {
    (void)worker;
    (void)msg;
}

void hd_pools_end(struct hd_worker *worker) {
    (void)worker;
}
