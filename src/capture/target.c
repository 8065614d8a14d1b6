/* SPDX-License-Identifier: MIT
 *
 * Opens and closes a target. On the monitor or worker thread: no allocation, no lock.
 */
#include "capture/target.h"

#include "os/os.h"

static uint64_t napped_ns;

uint64_t hd_capture_napped_ns(void) {
    return napped_ns;
}

void hd_capture_nap(uint64_t ns) {
    napped_ns += ns;
    hd_os_nap(ns);
}

int hd_target_open(struct hd_target *t, hd_thread_id thread) {
    int rc = hd_thread_files_open(&t->files, thread);
    t->thread = thread;
    t->methods = t->methods != NULL ? t->methods : hd_methods;
    t->bounds = (struct hd_stack_bounds){0};
    t->last.valid = t->waits.known = t->request.switches_known = false;
    t->waits.slices = 0;
    if (t->mailbox != NULL) {
        hd_stack_bounds_find(&t->bounds, &t->files, t->mailbox);
    }
    return rc;
}

void hd_target_close(struct hd_target *t) {
    hd_thread_files_close(&t->files);
    hd_signal_request_forget(&t->request, t->mailbox);
    hd_signal_request_close(t->mailbox);
    t->mailbox = NULL;
    t->watched = false;
    t->last.valid = false;
}
