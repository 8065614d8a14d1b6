/* SPDX-License-Identifier: MIT
 *
 * The calling thread's mailbox, as a value of a key. Darwin's loader gives thread-local variables their
 * memory at the first access, and a key needs none.
 */
#include "capture/mailbox.h"

#include <pthread.h>
#include <stdatomic.h>

static pthread_key_t key;
static atomic_int state; /* 0: there is no key; 1: a thread creates it; 2: there is one */

static bool have_key(void) {
    int none = 0;
    if (atomic_compare_exchange_strong(&state, &none, 1)) {
        none = pthread_key_create(&key, NULL) == 0 ? 2 : 0;
        atomic_store(&state, none);
    }
    return atomic_load(&state) == 2;
}

void hd_capture_set_mailbox(struct hd_mailbox *m) {
    if (have_key()) {
        (void)pthread_setspecific(key, m);
    }
}

struct hd_mailbox *hd_capture_own_mailbox(void) {
    return atomic_load(&state) == 2 ? pthread_getspecific(key) : NULL;
}
