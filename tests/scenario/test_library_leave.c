/* SPDX-License-Identifier: MIT
 *
 * The calling thread ends and others go on: our threads are gone before, for libc ends the process on its
 * last one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <unistd.h>

#include "control/instance_private.h"
#include "library.h"

static struct hd_os_calls true_os;
static atomic_uint under_way; /* wakes by our threads */

/* The worker's last call is one: who waits for that word only goes on before the thread ends. */
static int wake_slowly(uint32_t *word, int many, bool shared) {
    bool ours = gettid() != getpid();
    atomic_fetch_add(&under_way, ours);
    int woken = true_os.futex_wake(word, many, shared);
    hd_os_nap(ours ? 30 * MS : 0);
    atomic_fetch_sub(&under_way, ours);
    return woken;
}

static void leave(void) {
    library_start(&spool);
    hangdog_loop *loop = hangdog_loop_watch("main", 0);
    struct hd_run *m = hd_run_current();
    assert_non_null(loop);
    assert_non_null(m);
    hd_instance_leave(true);
    assert_int_equal(atomic_load(&under_way), 0);
    const struct hd_instance *i = hd_instance_of(m);
    assert_false(i->monitor_thread.started || i->worker_thread.started);
    assert_int_equal(atomic_load(&m->record->status.end), HD_RECORD_STOPPED);
    assert_null(hd_run_current());
    hangdog_loop_unwatch(loop);
}

static void our_threads_are_gone_when_it_ends(void **state) {
    (void)state;
    true_os = hd_os;
    hd_os.futex_wake = wake_slowly;
    for (unsigned i = 0; i < 2; i++) {
        leave();
    }
    hd_os = true_os;
}

int main(void) {
    library_quick_disk();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(our_threads_are_gone_when_it_ends, begin_spool, end_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
