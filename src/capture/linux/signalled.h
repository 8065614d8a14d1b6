/* SPDX-License-Identifier: MIT
 *
 * Rung 2: a running thread is asked by a signal. Monitor: no allocation, no lock.
 */
#ifndef HD_SIGNALLED_H
#define HD_SIGNALLED_H

#include "capture/capture.h"

/* The signal to use, once the buffers are there. */
int hd_signalled_prepare(int signal);
int hd_signalled_signal(void); /* 0: not prepared */
/* Brings the buffer that running threads copy to near to the calling thread's processor, as far as most
 * stacks reach: of what another processor wrote last each line takes as long as a hundred bytes to copy. */
void hd_signalled_fetch(void);

/* The buffer for stacks that the monitor copies; NULL while a late handler is at it. */
uint8_t *hd_signalled_spare(void);

/* Before each capture: an answer that was there already, and was not taken, is not wanted. */
void hd_signalled_begin(struct hd_target *t);

/* Whether the thread may be sent the signal now: our handler is installed, the signal is neither blocked nor
 * pending, and the thread has not given up its processor since it was last looked at. One that has not
 * answered the last one (t->asked) is sent no other, and has, where `lend` allows it, the buffer that is lent
 * for its answer. */
bool hd_signalled_allowed(struct hd_target *t, bool lend);

/* Sends it and waits for the answer, which `lend` puts into the buffer that is lent. 0; -ETIMEDOUT: none
 * came; -ESRCH: the thread is gone. */
int hd_signalled_take(struct hd_target *t, bool lend, struct hd_capture *out);

/* The watch of a mailbox ends, which may be freed by its thread from now on. */
void hd_signalled_forget(const struct hd_mailbox *m);

/* Plain waiting, on the monitor. */
void hd_capture_nap(uint64_t ns);

#endif
