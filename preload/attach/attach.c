/* SPDX-License-Identifier: MIT
 *
 * The watch of a process usually starts in the preload's constructor. A program may have to be
 * single-threaded for a while. In this case the watch starts at the main thread's first wait, since the
 * monitor and the worker are threads too. If our threads had to end for a call of the program, the main
 * thread's next wait starts the watch again.
 */
#include "preload/attach/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "os/linux/proc_status.h"
#include "preload/attach/attach_start.h"
#include "preload/attach/attach_state.h"
#include "preload/attach/attach_stop.h"
#include "preload/attach/credentials.h"
#include "preload/attach/imports.h"
#include "preload/attach/named_threads.h"
#include "preload/attach/record_file.h"

/* ---- the constructor ------------------------------------------------------------------------- */

/* True if the process has a seccomp filter that the runner does not have. A filter that outlived an exec
 * applies to our threads too. The runner has tested that its own filters allow a watch, and has stored their
 * number in `o`. If /proc does not show the mode, this counts as a filter, since without /proc the watch
 * would see nothing. */
static bool under_an_unknown_filter(const struct hd_record_options *o) {
    static const char own[] = "/proc/self/status";
    char mode[16];
    int length = hd_proc_status_value(AT_FDCWD, own, "Seccomp:", mode, sizeof mode);
    return (length < 0 || (length > 0 && mode[0] != '0')) &&
           (o->seccomp_filters < 0 ||
            hd_proc_status_number(AT_FDCWD, own, "Seccomp_filters:", 10) != (uint64_t)o->seccomp_filters);
}

static void set_phase(enum hd_attach_phase phase, enum hd_unwatched why) {
    atomic_store(&hd_attach_state.phase, phase);
    atomic_store(&hd_attach_state.record->status.unwatched, why);
}

static struct hd_wait_table *first_wait(void);

void hd_attach_begin(struct hd_record *r, bool needs_single_threaded) {
    static const char names[][HD_IMPORT_BYTES] = {"unshare", "setns"};
    hd_attach_set_own();
    hd_attach_state.record = r;
    atomic_store(&r->status.attached, 1);
    if (under_an_unknown_filter(&r->options)) {
        atomic_store(&hd_attach_state.filtered, true);
        set_phase(HD_ATTACH_NEVER, HD_UNWATCHED_FILTER);
        return;
    }
    hd_attach_state.securebits = hd_own_prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
    struct hd_wait_table *t = hd_wait_table_new();
    hd_wait_hooks = (struct hd_wait_hooks){.first_wait = first_wait};
    hd_wait_table_self = t;
    hd_named_init(r);
    (void)hd_attach_has_same_root(); /* the first call stores the root folder; later calls compare with it */
    if (t == NULL) {
        atomic_store(&r->status.unwatched, HD_UNWATCHED_FAILED);
    } else if (needs_single_threaded || hd_main_program_imports(names, sizeof names / sizeof names[0])) {
        set_phase(HD_ATTACH_AT_FIRST_WAIT, HD_UNWATCHED_NO_WAIT);
        hd_record_file_keep();
    } else if (r->options.of_child != 0 && r->options.exec_mode == 0) {
        /* Most children end soon and never wait. So the watch of a child starts at the child's first
         * wait. */
        set_phase(HD_ATTACH_AT_FIRST_WAIT, HD_UNWATCHED_NO_WAIT);
    } else {
        atomic_store(&hd_attach_state.phase, HD_ATTACH_STARTING);
        hd_attach_start(t, atomic_load(&r->owner.image_ns));
    }
}

/* ---- the first wait --------------------------------------------------------------------------- */

/* Runs in a forked child, where the kernel has wiped the parent's watch. Most children exec or end soon, so
 * only a child that waits gets a record and a watch. */
static struct hd_wait_table *first_wait_of_child(void) {
    int saved = errno;
    struct hd_wait_table *t = hd_wait_table_new();
    struct hd_record *r = t != NULL ? hd_record_file_take_for_child(hd_attach_state.record) : NULL;
    hd_wait_table_self = NULL;
    hd_attach_set_own();
    hd_attach_forget_id_changes();
    hd_attach_state.restarts.starts = hd_attach_state.restarts.lost_tables = 0;
    hd_attach_state.restarts.not_before_ns = 0;
    hd_attach_state.securebits = -1;
    atomic_store(&hd_attach_state.phase, HD_ATTACH_NEVER);
    if (r != NULL) {
        hd_attach_state.record = r;
        atomic_store(&r->status.attached, 1);
        atomic_store(&hd_attach_state.phase, HD_ATTACH_STARTING);
        hd_wait_table_self = t;
        hd_attach_start(t, hd_os_now_ns());
    }
    errno = saved;
    return hd_wait_table_self;
}

/* True in a vforked child while a wait would start a watch. The child shares memory and thread-local
 * variables with the parent, and must not start the parent's watch. */
static bool in_vforked_child(void) {
    uint32_t phase = atomic_load(&hd_attach_state.phase);
    return (phase == HD_ATTACH_AT_FIRST_WAIT || phase == HD_ATTACH_ENDING) && hd_attach_is_vforked();
}

/* Changes the watch's phase from AT_FIRST_WAIT to STARTING. False: the caller's wait starts no watch. */
static bool claim_start(void) {
    uint32_t phase = HD_ATTACH_AT_FIRST_WAIT;
    if (hd_attach_state.restarts.not_before_ns > hd_os_now_ns() &&
        atomic_load(&hd_attach_state.phase) == HD_ATTACH_AT_FIRST_WAIT) {
        return false;
    }
    if (!atomic_compare_exchange_strong(&hd_attach_state.phase, &phase, HD_ATTACH_STARTING)) {
        if (phase != HD_ATTACH_STARTING) {
            /* This process is not watched any more, or is a forked child that is not followed. Without a
             * wait table, this thread's later waits do not call first_wait. */
            hd_wait_table_self = NULL;
        }
        return false;
    }
    if (!hd_attach_has_own_memory()) {
        atomic_store(&hd_attach_state.phase, HD_ATTACH_NEVER);
        hd_wait_table_self = NULL;
        return false;
    }
    return true;
}

/* The hook that preload/waits calls (struct hd_wait_hooks): the calling thread has a wait table but no
 * watch, and is about to wait. Returns the thread's wait table if the thread is watched now, else NULL.
 * Preserves errno. */
static struct hd_wait_table *first_wait(void) {
    struct hd_wait_table *t = hd_wait_table_self;
    if (t->named) {
        /* Either the watch of this named thread has ended, or the process is a forked child. In both cases
         * the thread's wait table is not used any more. */
        hd_wait_table_self = NULL;
        return NULL;
    }
    if (in_vforked_child()) {
        return NULL;
    }
    if (hd_record_file_path() != NULL && hd_attach_is_child()) {
        return first_wait_of_child();
    }
    int saved = errno;
    if (atomic_load(&hd_attach_state.phase) == HD_ATTACH_ENDING && hd_attach_end_threads()) {
        t = hd_wait_table_self;
        errno = saved;
    }
    if (!claim_start()) {
        return NULL;
    }
    bool first_of_child = hd_attach_state.record->options.of_child && hd_attach_state.restarts.starts == 0;
    hd_attach_start(t,
                    first_of_child ? atomic_load(&hd_attach_state.record->owner.image_ns) : hd_os_now_ns());
    errno = saved;
    return t;
}

void hd_attach_before_rights_drop(void) {
    bool child = hd_record_file_path() != NULL && hd_attach_is_child();
    bool at_first_wait = atomic_load(&hd_attach_state.phase) == HD_ATTACH_AT_FIRST_WAIT && hd_attach_is_own();
    if (hd_wait_table_self != NULL && (child || at_first_wait) && geteuid() == 0 && !hd_attach_is_vforked()) {
        (void)first_wait();
    }
}

/* ---- exec ------------------------------------------------------------------------------------- */

struct hd_record *hd_attach_before_exec(void) {
    bool watched = hd_attach_state.record != NULL && !hd_attach_is_filtered() &&
                   atomic_load(&hd_attach_state.phase) != HD_ATTACH_NEVER;
    return watched && hd_attach_is_own() ? hd_attach_state.record : NULL;
}
