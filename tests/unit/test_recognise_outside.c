/* SPDX-License-Identifier: MIT
 *
 * The recogniser without the preload: this process watches a child by /proc. It fills the same values as the
 * preload's wait table does, and gets the same verdicts. The child runs an epoll loop, and a callback of the
 * loop blocks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define print_error cmocka_print_error /* the command has one, too */
#include <cmocka.h>
#undef print_error

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/live/process.h"
#include "cli/live/threads.h"
#include "os/os.h"
#include "recognise/judge.h"
#include "recognise/open_files.h"
#include "recognise/wait_stack.h"

#define UNTIL_NS (10 * HD_NS_PER_S)

/* ---- the child ---------------------------------------------------------------------------------- */

static int event[2], reply[2]; /* pipes from this process to the child */

__attribute__((noinline)) static void block_for_a_reply(void) {
    struct pollfd one = {.fd = reply[0], .events = POLLIN};
    char byte;
    if (poll(&one, 1, -1) == 1 && read(reply[0], &byte, 1) != 1) {
        _exit(1);
    }
}

__attribute__((noinline)) static void run_loop(int epoll) {
    struct epoll_event found;
    char byte;
    for (;;) {
        if (epoll_wait(epoll, &found, 1, -1) == 1 && read(event[0], &byte, 1) == 1) {
            block_for_a_reply();
        }
    }
}

static void child_with_a_loop(void) {
    int epoll = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct epoll_event in = {.events = EPOLLIN};
    epoll_ctl(epoll, EPOLL_CTL_ADD, event[0], &in);
    epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &in);
    run_loop(epoll);
}

static void child_without_a_loop(void) {
    for (;;) {
        block_for_a_reply();
    }
}

static pid_t start_child(void (*run)(void)) {
    assert_int_equal(pipe(event), 0);
    assert_int_equal(pipe(reply), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves no child */
        close(event[1]);
        close(reply[1]);
        run();
        _exit(0);
    }
    return pid;
}

static void end_child(pid_t pid) {
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(event[0]), close(event[1]), close(reply[0]), close(reply[1]);
}

static void send_byte(int to) {
    assert_int_equal(write(to, "x", 1), 1);
}

/* ---- this process: from /proc to a value -------------------------------------------------------- */

/* A line of /proc/PID/syscall: the call that the thread is blocked in. */
struct call {
    long number;
    unsigned long args[6], sp;
};

static bool is_blocked(pid_t pid, struct call *c) {
    char path[48], text[256];
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return sscanf(text, "%ld %lx %lx %lx %lx %lx %lx %lx", &c->number, &c->args[0], &c->args[1], &c->args[2],
                  &c->args[3], &c->args[4], &c->args[5], &c->sp) == 8;
}

static bool is_poll(long number) {
#ifdef SYS_poll
    return number == SYS_poll || number == SYS_ppoll;
#else
    return number == SYS_ppoll;
#endif
}

static bool is_epoll(long number) {
#ifdef SYS_epoll_wait
    return number == SYS_epoll_wait || number == SYS_epoll_pwait;
#else
    return number == SYS_epoll_pwait;
#endif
}

static struct call wait_for_call(pid_t pid, bool (*is)(long)) {
    struct call c;
    uint64_t until_ns = hd_os_now_ns() + UNTIL_NS;
    while (!is_blocked(pid, &c) || !is(c.number)) {
        assert_true(hd_os_now_ns() < until_ns);
        hd_os_nap(HD_NS_PER_MS);
    }
    return c;
}

static struct hd_wait_descriptors descriptors_of(const struct live_process *p, const struct call *c) {
    struct hd_wait_descriptors d = {.epoll = is_epoll(c->number), .fds = 1};
    struct pollfd set[HD_WAIT_FDS];
    if (d.epoll) {
        d.fd[0] = (int32_t)c->args[0];
        return d;
    }
    assert_true(c->args[1] <= HD_WAIT_FDS);
    ssize_t bytes = (ssize_t)(c->args[1] * sizeof set[0]);
    assert_int_equal(pread(p->mem_fd, set, (size_t)bytes, (off_t)c->args[0]), bytes);
    for (d.fds = 0; d.fds < c->args[1]; d.fds++) {
        d.fd[d.fds] = set[d.fds].fd;
    }
    return d;
}

static void read_stack(const struct live_process *p, const struct call *c, struct hd_wait_seen *seen) {
    struct live_threads t;
    struct hd_functions known = {.count = 0};
    struct hd_loop_option none = {.module = ""};
    assert_int_equal(live_threads_read(&t, p, false), 0);
    const struct hd_thread_record *main_thread = t.record;
    while (hd_thread_id_tid(main_thread->thread) != p->pid) { /* a sanitizer has a thread of its own */
        main_thread++;
        assert_true(main_thread < t.record + t.count);
    }
    assert_int_equal(main_thread->error, 0);
    const struct hd_frame *frames = t.frame + main_thread->first;
    const struct hd_walk walk = {
        .count = main_thread->count, .cut = main_thread->cut, .stop = main_thread->stop};
    uint32_t caller = hd_loop_option_caller(t.modules, frames, walk.count);
    assert_in_range(caller, 1, walk.count - 1);
    struct hd_wait_stack stack = {.frames = frames, .walk = &walk, .copied_from = c->sp - frames[0].at};
    stack.caller_sp = stack.copied_from + frames[caller].at;
    hd_wait_stack_read(&stack, t.modules, &known, &none, seen);
    live_threads_free(&t);
}

/* The wait that the child is in, once it is in such a call. */
static struct hd_wait_seen see_wait(pid_t pid, bool (*is)(long)) {
    static const struct live_command command = {"watch", "watch"};
    struct live_process p;
    struct problem why;
    struct call c = wait_for_call(pid, is);
    struct hd_wait_seen seen = {.times = {.waits = 0}};
    assert_int_equal(live_process_open(pid, &command, &p, &why), 0);
    const struct hd_wait_descriptors d = descriptors_of(&p, &c);
    hd_thread_id thread = hd_thread_id_of(pid);
    read_stack(&p, &c, &seen);
    assert_true(hd_open_files_set(p.proc_fd, thread, &d, &seen.set));
    hd_open_files_kinds(p.proc_fd, thread, &d, &seen.kinds);
    live_process_close(&p);
    return seen;
}

/* ---- the verdicts ------------------------------------------------------------------------------- */

static struct hd_judge judge;
static uint64_t order;

static int start(void **state) {
    (void)state;
    hd_os_clock_init();
    hd_judge_init(&judge, "");
    order = 0;
    return 0;
}

static enum hd_wait_verdict verdict_on(const struct hd_wait_seen *w) {
    hd_judge_seen(&judge, w, true, hd_os_now_ns());
    return hd_judge_verdict(&judge, w);
}

static void ended(struct hd_wait_seen *w) {
    w->times = (struct hd_wait_times){
        .waits = 1, .waited_ns = HD_NS_PER_MS, .order = ++order, .ended_ns = hd_os_now_ns()};
    hd_judge_ended(&judge, w);
}

static void an_epoll_loop_is_known_at_its_first_wait_and_certain_when_it_returns(void **state) {
    (void)state;
    pid_t pid = start_child(child_with_a_loop);
    struct hd_wait_seen loop = see_wait(pid, is_epoll);
    assert_true(loop.at.stack_hash != 0 && loop.at.depth > 0);
    assert_true(hd_set_is_epoll(&loop.set));
    assert_int_equal(loop.stack.enclosed, HD_NOT_ENCLOSED);
    assert_int_equal(hd_wait_seen_evidence(&loop), HD_WAIT_EVIDENCE_BY_KIND);
    assert_int_equal(verdict_on(&loop), HD_WAIT_IDLE);
    assert_int_equal(hd_judge_certainty(&judge), HD_RECORD_LOOP_LIKELY);
    ended(&loop);

    send_byte(event[1]);
    struct hd_wait_seen call = see_wait(pid, is_poll);
    assert_true(call.at.sp < loop.at.sp && call.at.depth > loop.at.depth);
    assert_int_equal(hd_wait_seen_evidence(&call), HD_WAIT_EVIDENCE_CALL);
    assert_int_equal(verdict_on(&call), HD_WAIT_BUSY);
    ended(&call);

    send_byte(reply[1]);
    struct hd_wait_seen again = see_wait(pid, is_epoll);
    assert_true(again.at.stack_hash == loop.at.stack_hash && again.at.sp == loop.at.sp);
    assert_memory_equal(&again.set, &loop.set, sizeof loop.set);
    ended(&again);
    assert_int_equal(hd_judge_verdict(&judge, &again), HD_WAIT_IDLE);
    assert_int_equal(hd_judge_certainty(&judge), HD_RECORD_LOOP_CERTAIN);
    end_child(pid);
}

static void a_child_that_only_reads_a_pipe_has_no_loop(void **state) {
    (void)state;
    pid_t pid = start_child(child_without_a_loop);
    for (unsigned i = 0; i < 4; i++) {
        struct hd_wait_seen call = see_wait(pid, is_poll);
        assert_int_equal(hd_wait_seen_evidence(&call), HD_WAIT_EVIDENCE_CALL);
        assert_int_equal(verdict_on(&call), HD_WAIT_UNKNOWN);
        ended(&call);
        send_byte(reply[1]);
    }
    assert_int_equal(hd_judge_certainty(&judge), HD_RECORD_NO_LOOP);
    end_child(pid);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_epoll_loop_is_known_at_its_first_wait_and_certain_when_it_returns, start),
        cmocka_unit_test_setup(a_child_that_only_reads_a_pipe_has_no_loop, start),
    };
    return cmocka_run_group_tests_name("from outside", tests, NULL, NULL);
}
