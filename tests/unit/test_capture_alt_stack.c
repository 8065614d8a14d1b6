/* SPDX-License-Identifier: MIT
 *
 * Whose alternate stack a signal of ours runs on: the program's own, or one that we lend the thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "capture/linux/signal_handler.h"
#include "capture/watched_thread.h"
#include "capture_live.h"

static uint8_t own_alt_stack[64 * 1024];
static stack_t alt_at_start, alt_inside, alt_after;

static void *program_with_an_alternate_stack(void *arg) {
    struct live *l = arg;
    stack_t own = {.ss_sp = own_alt_stack, .ss_size = sizeof own_alt_stack}, before;
    sigaltstack(&own, &before);
    l->tid = hd_os.get_tid();
    l->enter_rc = hd_capture_thread_enter(l->memory, &l->mailbox);
    hd_os.alt_stack(NULL, &alt_inside);
    live_set(&l->ready, 1);
    live_spin_until_stop(l);
    l->leave_rc = hd_capture_thread_leave(l->mailbox);
    hd_os.alt_stack(&before, &alt_after); /* a sanitizer frees its own when the thread ends */
    return NULL;
}

static void the_programs_own_alternate_stack_stays(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_capture c;
    assert_int_equal(hd_capture_signal_init(SIGURG), 0);
    l.memory = hd_os_memory_take(hd_capture_thread_bytes());
    assert_int_equal(pthread_create(&l.thread, NULL, program_with_an_alternate_stack, &l), 0);
    assert_true(live_wait(&l.ready));
    assert_int_equal(l.enter_rc, 0);
    l.target = (struct hd_target){.watched = true, .mailbox = l.mailbox, .request.signal = SIGURG};
    assert_int_equal(hd_target_open(&l.target, hd_thread_id_of(l.tid)), 0);
    assert_true(live_capture_spinning(&l, &c));
    assert_true(live_in_spin(c.regs.pc));
    live_end(&l);
    assert_ptr_equal(alt_inside.ss_sp, own_alt_stack);
    assert_ptr_equal(alt_after.ss_sp, own_alt_stack);
    assert_int_equal(alt_after.ss_flags & SS_DISABLE, 0);
}

static void body_alt_stacks(struct live *l) {
    stack_t own = {.ss_sp = own_alt_stack, .ss_size = sizeof own_alt_stack};
    hd_os.alt_stack(NULL, &alt_inside);
    if (l->arg != NULL) {
        hd_os.alt_stack(&own, NULL);
    }
}

static void *enter_and_look(void *arg) {
    struct live *l = arg;
    hd_os.alt_stack(NULL, &alt_at_start);
    live_run(l);
    hd_os.alt_stack(&alt_at_start, &alt_after);
    return NULL;
}

static void run_alt_stacks(struct live *l) {
    l->body = body_alt_stacks;
    l->memory = hd_os_memory_take(hd_capture_thread_bytes());
    assert_int_equal(pthread_create(&l->thread, NULL, enter_and_look, l), 0);
    pthread_join(l->thread, NULL);
    assert_int_equal(l->enter_rc, 0);
    assert_int_equal(l->leave_rc, 0);
    hd_os_memory_give(l->memory, hd_capture_thread_bytes());
}

static void a_thread_without_one_gets_ours_and_gives_it_back(void **state) {
    (void)state;
    struct live l = {0};
    run_alt_stacks(&l);
    if ((alt_at_start.ss_flags & SS_DISABLE) != 0) { /* sanitizers set one for every thread */
        assert_true((uint8_t *)alt_inside.ss_sp > (uint8_t *)l.memory);
        assert_int_equal(alt_inside.ss_size, HD_ALT_STACK_BYTES);
        assert_int_equal(alt_after.ss_flags & SS_DISABLE, SS_DISABLE);
    }
}

static void one_that_the_program_sets_during_the_watch_stays(void **state) {
    (void)state;
    struct live l = {.arg = &l};
    run_alt_stacks(&l);
    assert_ptr_equal(alt_after.ss_sp, own_alt_stack);
}

/* The program's own alternate stack, as small as the kernel takes it: a frame of ours would run over its end.
 */
static void body_on_a_small_alternate_stack(struct live *l) {
    static uint8_t small[16384];
    size_t least = getauxval(AT_MINSIGSTKSZ), size = least > 4096 ? least : 4096;
    stack_t own = {.ss_sp = small, .ss_size = size};
    stack_t none = {.ss_flags = SS_DISABLE};
    bool set = sigaltstack(&own, NULL) == 0;
    __atomic_store_n(&l->mailbox->alt_bytes, set ? size : 0, __ATOMIC_RELAXED); /* as the preload does */
    live_spin_until_stop(l);
    sigaltstack(&none, NULL);
}

static void a_stack_without_room_for_a_signal_gets_none(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_capture c;
    assert_true(live_start(&l, body_on_a_small_alternate_stack));
    live_nap(20 * HD_NS_PER_MS);
    for (int i = 0; i < 5; i++) {
        assert_true(live_capture_by(&l, HD_WAY_KERNEL, &c));
        assert_true(c.no_space);
    }
    assert_int_equal(l.target.cost.signals, 0);
    live_end(&l);
}

static struct hd_os_calls real;

static int refuse_alt_stack(const void *new_stack, void *old_stack) {
    return new_stack != NULL ? -ENOMEM : real.alt_stack(new_stack, old_stack);
}

static void a_thread_that_cannot_have_an_alternate_stack_is_not_entered(void **state) {
    (void)state;
    struct live l = {0};
    stack_t now;
    hd_os.alt_stack(NULL, &now);
    if ((now.ss_flags & SS_DISABLE) == 0) {
        skip(); /* a sanitizer has set one */
    }
    l.memory = hd_os_memory_take(hd_capture_thread_bytes());
    real = hd_os;
    hd_os.alt_stack = refuse_alt_stack;
    int rc = hd_capture_thread_enter(l.memory, &l.mailbox);
    hd_os = real;
    assert_int_equal(rc, -ENOMEM);
    assert_null(l.mailbox);
    hd_os_memory_give(l.memory, hd_capture_thread_bytes());
}

static void a_child_made_on_the_alternate_stack_lives(void **state) {
    (void)state;
    struct live l = {0};
    stack_t now;
    hd_os.alt_stack(NULL, &now);
    if ((now.ss_flags & SS_DISABLE) == 0) {
        skip();
    }
    l.memory = hd_os_memory_take(hd_capture_thread_bytes());
    assert_int_equal(hd_capture_thread_enter(l.memory, &l.mailbox), 0);
    memset(l.mailbox->alt_stack, 7, 16);
    pid_t child = fork();
    if (child == 0) {
        bool kept = l.mailbox->alt_stack == NULL; /* the mailbox is wiped, the stack is not */
        kept = kept && ((uint8_t *)l.memory)[4096] == 7;
        raise(SIGURG); /* and our handler finds nothing to answer */
        _exit(kept ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(hd_capture_thread_leave(l.mailbox), 0);
    hd_os_memory_give(l.memory, hd_capture_thread_bytes());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_programs_own_alternate_stack_stays),
        cmocka_unit_test(a_thread_without_one_gets_ours_and_gives_it_back),
        cmocka_unit_test(one_that_the_program_sets_during_the_watch_stays),
        cmocka_unit_test(a_stack_without_room_for_a_signal_gets_none),
        cmocka_unit_test(a_thread_that_cannot_have_an_alternate_stack_is_not_entered),
        cmocka_unit_test(a_child_made_on_the_alternate_stack_lives),
    };
    hd_os_clock_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
