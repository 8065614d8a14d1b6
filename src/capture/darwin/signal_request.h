/* SPDX-License-Identifier: MIT
 *
 * The request for a running thread's stack is empty on Darwin: the monitor suspends the thread, and sends it
 * no signal. So no capture has a late answer. On the monitor thread: no allocation, no lock.
 */
#ifndef HD_SIGNAL_REQUEST_H
#define HD_SIGNAL_REQUEST_H

#include "capture/arch/thread_files.h"
#include "capture/mailbox.h"

struct hd_back_off {
    bool on; /* always false */
};

struct hd_signal_request {
    int signal; /* of the settings; no thread gets it */
    bool switches_known;
    struct hd_back_off back_off;
};

/* Maps the buffer for stacks, for the life of the process. Call this before the first capture. Returns 0 or
 * -ENOMEM. */
int hd_capture_buffers(void);
/* Returns that buffer, which has HD_STACK_BYTES_MAX bytes. */
uint8_t *hd_signal_request_spare(void);

static inline void hd_signal_request_begin(struct hd_signal_request *r, bool in_place,
                                           const struct hd_thread_files *f, struct hd_mailbox *m) {
    (void)r;
    (void)in_place;
    (void)f;
    (void)m;
}

static inline bool hd_signal_request_may_be_in_place(const struct hd_signal_request *r) {
    (void)r;
    return false;
}

static inline void hd_signal_request_forget(struct hd_signal_request *r, struct hd_mailbox *m) {
    (void)r;
    (void)m;
}

static inline void hd_signal_request_close(const struct hd_mailbox *m) {
    (void)m;
}

#endif
