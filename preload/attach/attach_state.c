/* SPDX-License-Identifier: MIT */
#include "preload/attach/attach_state.h"

#include "control/instance.h"

struct hd_attach_state hd_attach_state;
void *hd_attach_alt_stack;

static int own_pid;
/* Points to the value 1 in the watched process, and to 0 in a forked child. The process id does not
 * suffice to recognise a child, because a child in another PID namespace may have the same process id. */
static uint32_t *not_wiped;

void hd_attach_set_own(void) {
    /* `not_wiped` points here if the kernel gave no memory that it wipes at a fork. A forked child also
     * reads 1 from here, so only the process id distinguishes that child. */
    static uint32_t without_memory = 1;
    if (not_wiped == NULL) {
        not_wiped = hd_os_memory_take(sizeof *not_wiped);
    }
    if (not_wiped == NULL) {
        not_wiped = &without_memory;
    }
    __atomic_store_n(not_wiped, 1, __ATOMIC_RELAXED);
    own_pid = hd_os.get_pid();
}

bool hd_attach_has_own_memory(void) {
    return not_wiped != NULL && __atomic_load_n(not_wiped, __ATOMIC_RELAXED) != 0;
}

bool hd_attach_is_own(void) {
    return hd_attach_has_own_memory() && hd_os.get_pid() == own_pid;
}

bool hd_attach_is_vforked(void) {
    return hd_attach_has_own_memory() && hd_os.get_pid() != own_pid;
}

bool hd_attach_is_child(void) {
    return hd_attach_state.record != NULL && !hd_attach_is_filtered() && !hd_attach_is_own();
}

bool hd_attach_is_filtered(void) {
    return atomic_load_explicit(&hd_attach_state.filtered, memory_order_relaxed);
}

bool hd_attach_phase_has_threads(enum hd_attach_phase phase) {
    return phase == HD_ATTACH_WATCHED || phase == HD_ATTACH_ENDING;
}

int hd_attach_own_thread(void) {
    if (!hd_attach_phase_has_threads(atomic_load(&hd_attach_state.phase)) || hd_attach_is_filtered() ||
        !hd_attach_is_own()) {
        return 0;
    }
    const struct hd_run *run = hd_run_current();
    int tid = run != NULL ? hd_thread_id_tid(atomic_load(&run->channel.threads.monitor)) : 0;
    return run != NULL && tid == 0 ? -1 : tid;
}
