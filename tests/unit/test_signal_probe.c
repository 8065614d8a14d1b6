/* SPDX-License-Identifier: MIT
 *
 * The process that gets the signals of our group, when it was slow to answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "cli/run/signal_probe.h"

#define PATIENCE_MS 60000
#define NOTHING_MS 200 /* an answer that is on its way comes within */

static int answers(const struct signal_probe *w, int within_ms) {
    struct pollfd answer = {.fd = w->talk, .events = POLLIN};
    return poll(&answer, 1, within_ms);
}

static void an_answer_that_comes_late_is_not_the_next_ones(void **state) {
    (void)state;
    struct signal_probe w;
    sigset_t set;
    int status;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    signal_probe_start(&w, -1);
    assert_true(w.pid > 0);
    assert_int_equal(kill(w.pid, SIGSTOP), 0);
    assert_int_equal(waitpid(w.pid, &status, WUNTRACED), w.pid);
    signal_probe_forget(&w, &set); /* in vain, for as long as it waits */
    assert_int_equal(kill(w.pid, SIGCONT), 0);
    assert_int_equal(answers(&w, PATIENCE_MS), 1);
    assert_int_equal(kill(w.pid, SIGUSR1), 0);
    assert_true(signal_probe_has(&w, SIGUSR1));
    bool answered = false;
    for (unsigned i = 0; i < 20 && !answered; i++) { /* on a starved machine one may be late again */
        signal_probe_forget(&w, &set);
        answered = answers(&w, NOTHING_MS) == 0;
    }
    assert_true(answered);
    assert_false(signal_probe_has(&w, SIGUSR1));
    signal_probe_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_that_comes_late_is_not_the_next_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
