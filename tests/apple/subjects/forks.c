/* SPDX-License-Identifier: MIT
 *
 * A watched program forks: its child is not watched, may start a watch of its own, and changes nothing of the
 * parent's. forks SPOOL.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hangdog/hangdog.h"
#include "subject.h"

#define MS 1000000ull

static hangdog_loop *start(const char *name, const char *spool) {
    hangdog_options o = {.size = sizeof o, .app_name = name, .spool = spool};
    for (int i = 0; i < HANGDOG_STATES; i++) {
        o.threshold_ns[i] = 300 * MS;
    }
    CHECK_EQUAL(0, hangdog_start(&o));
    hangdog_loop *loop = hangdog_loop_watch("main", 0);
    CHECK(loop != NULL);
    hangdog_before_wait(loop);
    nap_ms(50);
    return loop;
}

static void hang(hangdog_loop *loop) {
    hangdog_after_wait(loop);
    nap_ms(700);
    hangdog_before_wait(loop);
    nap_ms(300);
}

static int in_child(hangdog_loop *of_parent, const char *spool) {
    hangdog_after_wait(of_parent); /* marks of the parent's loop do nothing */
    hangdog_before_wait(of_parent);
    hangdog_totals totals = {.size = sizeof totals};
    CHECK_EQUAL(-ESRCH, hangdog_stats(&totals)); /* nothing runs here */
    CHECK_EQUAL(0, hangdog_stop());
    hangdog_loop *own = start("child", spool);
    hang(own);
    hangdog_loop_unwatch(own);
    CHECK_EQUAL(0, hangdog_stop());
    fflush(stdout);
    return failed_checks;
}

int main(int argc, char **argv) {
    int status = -1;
    (void)argc;
    hangdog_loop *loop = start("parent", argv[1]);
    hang(loop);
    pid_t child = fork();
    if (child == 0) {
        _exit(in_child(loop, argv[1]));
    }
    hang(loop);
    CHECK_EQUAL(child, waitpid(child, &status, 0));
    CHECK_EQUAL(0, status);
    hangdog_loop_unwatch(loop);
    CHECK_EQUAL(0, hangdog_stop());
    return failed_checks ? 1 : 0;
}
