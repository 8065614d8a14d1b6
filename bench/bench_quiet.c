/* SPDX-License-Identifier: MIT
 *
 * False alarms over what is no hang: a loop in a process of its own is stopped, frozen, started on other
 * clocks, loaded by hogs, turned very often, nested, or a game's. Every report of it counts, except where the
 * program's own clock says that a turn took the threshold: then the machine made a hang.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "bench_json.h"
#include "hangdog/hangdog.h"

#define THRESHOLD_NS (500 * BENCH_MS)
#define STOP_NS (1500 * BENCH_MS) /* three thresholds */
#define REPORT_BYTES_MAX (4u << 20)
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

/* What the loop's process and this one share. */
struct quiet_run {
    _Atomic bool watched, failed;
    uint64_t turns, ns;    /* that it made, and in which time */
    unsigned over;         /* turns of the threshold or more by its own clock; a stop is in none of them */
    unsigned reports;      /* but the session's */
    uint64_t thrown_in_ns; /* by which its clocks are ahead of ours; 0: the same */
};
static struct quiet_run *run;
static uint64_t last_ns;

/* ---- loops -------------------------------------------------------------------------------------- */

static void compute(uint64_t ns) {
    static volatile uint64_t sum;
    for (uint64_t end = bench_now_ns() + ns; bench_now_ns() < end;) {
        sum = sum + 1;
    }
}

static void end_turn(uint64_t from_ns) {
    last_ns = bench_now_ns();
    run->turns++;
    run->over += last_ns - from_ns >= THRESHOLD_NS;
}

/* Half of the time in a turn and half in a wait, so that a stop meets both. */
static void loop_half_busy(hangdog_loop *loop, uint64_t until_ns) {
    while (bench_now_ns() < until_ns) {
        uint64_t from_ns = bench_now_ns();
        hangdog_after_wait(loop);
        compute(30 * BENCH_MS);
        hangdog_before_wait(loop);
        end_turn(from_ns);
        bench_sleep_ns(30 * BENCH_MS);
    }
}

/* More than 10,000 turns a second: twenty, one after the other, and a wait of a millisecond. */
static void loop_often(hangdog_loop *loop, uint64_t until_ns) {
    while (bench_now_ns() < until_ns) {
        uint64_t from_ns = bench_now_ns();
        hangdog_after_wait(loop);
        for (unsigned i = 0; i < 20; i++) {
            compute(5000);
            hangdog_turn(loop);
            end_turn(from_ns);
            from_ns = last_ns;
        }
        hangdog_before_wait(loop);
        bench_sleep_ns(BENCH_MS);
    }
}

/* A dialog in a callback, and one in that: each has a loop of its own, and the callback lasts. */
static void loop_nested(hangdog_loop *loop, uint64_t until_ns, unsigned depth) {
    hangdog_mark(loop, HANGDOG_ENTRY);
    while (bench_now_ns() < until_ns) {
        uint64_t from_ns = bench_now_ns();
        hangdog_before_wait(loop);
        bench_sleep_ns(20 * BENCH_MS);
        hangdog_after_wait(loop);
        compute(5 * BENCH_MS);
        end_turn(from_ns);
        if (depth < 3) {
            uint64_t left_ns = until_ns - bench_now_ns();
            loop_nested(loop, bench_now_ns() + (left_ns < until_ns ? left_ns / 2 : 0), depth + 1);
        }
    }
    hangdog_mark(loop, HANGDOG_EXIT);
}

static void loop_dialogs(hangdog_loop *loop, uint64_t until_ns) {
    hangdog_mark(loop, HANGDOG_AFTER_WAITING);
    loop_nested(loop, until_ns, 1);
    hangdog_before_wait(loop);
}

/* It never waits for an event: it draws, and sleeps until the next frame is due. */
static void loop_game(hangdog_loop *loop, uint64_t until_ns) {
    const uint64_t frame_ns = BENCH_S / 60;
    uint64_t due_ns = bench_now_ns();
    hangdog_after_wait(loop);
    for (uint64_t from_ns = due_ns; due_ns < until_ns; from_ns = last_ns) {
        compute(6 * BENCH_MS);
        due_ns += frame_ns;
        uint64_t now_ns = bench_now_ns();
        if (due_ns > now_ns) {
            bench_sleep_ns(due_ns - now_ns);
        }
        hangdog_frame(loop);
        end_turn(from_ns);
    }
    hangdog_before_wait(loop);
}

/* ---- its process -------------------------------------------------------------------------------- */

static bool is_session(int fd) {
    char *text = malloc(REPORT_BYTES_MAX);
    ssize_t got = text != NULL ? read(fd, text, REPORT_BYTES_MAX - 1) : -1;
    bool session = false;
    if (got > 0) {
        text[got] = '\0';
        session = bench_json_is(bench_json_member(text, "kind"), "session");
    }
    if (!session && got > 0 && bench_options.verbose) {
        char kind[32], cause[32];
        bench_json_text(bench_json_member(text, "kind"), kind, sizeof kind);
        bench_json_text(bench_json_member(bench_json_member(text, "cause"), "kind"), cause, sizeof cause);
        uint64_t ns = bench_json_u64(bench_json_member(text, "duration_ns"), 0);
        fprintf(stderr, "quiet: a report: %s of %.0f ms, %s\n", kind, (double)ns / 1e6, cause);
    }
    free(text);
    return session;
}

static unsigned count_reports(const char *folder) {
    unsigned count = 0;
    const struct dirent *e;
    DIR *dir = opendir(folder);
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        const char *end = strrchr(e->d_name, '.');
        if (e->d_name[0] == '.' || end == NULL || strcmp(end, ".json") != 0) {
            continue;
        }
        int fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_CLOEXEC);
        count += fd >= 0 && !is_session(fd);
        close(fd);
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return count;
}

static void run_loop(void (*loop_run)(hangdog_loop *, uint64_t), uint64_t ns) {
    char folder[BENCH_PATH];
    hangdog_loop *loop = bench_folder_make(folder) == 0 ? bench_watch(folder, THRESHOLD_NS) : NULL;
    if (loop == NULL) {
        run->failed = true;
        return;
    }
    run->watched = true;
    uint64_t from_ns = bench_now_ns();
    loop_run(loop, from_ns + ns);
    run->ns = bench_now_ns() - from_ns;
    bench_sleep_ns(300 * BENCH_MS); /* the last report is written */
    hangdog_loop_unwatch(loop);
    hangdog_stop();
    run->reports = count_reports(folder);
    bench_folder_remove(folder);
}

/* ---- what goes on meanwhile --------------------------------------------------------------------- */

static void stop_it(pid_t pid) {
    kill(pid, SIGSTOP);
    bench_sleep_ns(STOP_NS);
    kill(pid, SIGCONT);
}

static bool write_text(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool fine = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) {
        close(fd);
    }
    return fine;
}

static char group[128];
static const char *freeze_file, *frozen, *thawed;

static bool write_group(const char *file, const char *text) {
    char path[192];
    snprintf(path, sizeof path, "%s/%s", group, file);
    return write_text(path, text);
}

/* A control group for the loop's process, of either version. */
static bool make_group(pid_t pid) {
    char number[16];
    snprintf(group, sizeof group, "/sys/fs/cgroup/freezer/hangdog-bench-%d", (int)getpid());
    freeze_file = "freezer.state", frozen = "FROZEN", thawed = "THAWED";
    if (mkdir(group, 0755) != 0) {
        snprintf(group, sizeof group, "/sys/fs/cgroup/hangdog-bench-%d", (int)getpid());
        freeze_file = "cgroup.freeze", frozen = "1", thawed = "0";
        if (mkdir(group, 0755) != 0) {
            return false;
        }
    }
    snprintf(number, sizeof number, "%d", (int)pid);
    return write_group("cgroup.procs", number) && write_group(freeze_file, thawed);
}

static void freeze_it(pid_t pid) {
    (void)pid;
    write_group(freeze_file, frozen);
    bench_sleep_ns(STOP_NS);
    write_group(freeze_file, thawed);
}

/* Two for each CPU, with less right to it than the loop. */
static void start_hogs(pid_t *hogs, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        hogs[i] = fork();
        if (hogs[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            setpriority(PRIO_PROCESS, 0, 19);
            for (;;) {
                compute(BENCH_S);
            }
        }
    }
}

/* ---- one case ----------------------------------------------------------------------------------- */

struct quiet_case {
    const char *name;
    void (*loop)(hangdog_loop *, uint64_t);
    void (*disturb)(pid_t); /* again and again */
    bool group, hogs, other_clocks;
};

/* Its clocks are a day ahead of ours, as after a suspend or in a container that was moved. 0: not allowed. */
static pid_t fork_with_other_clocks(void) {
    pid_t pid = fork();
    if (pid != 0) {
        return pid;
    }
    if (unshare(CLONE_NEWTIME) != 0 ||
        !write_text("/proc/self/timens_offsets", "monotonic 86400 500000000\nboottime 86400 500000000\n")) {
        _exit(77);
    }
    uint64_t before_ns = bench_now_ns();
    pid = fork(); /* a child is in the new namespace */
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        run->thrown_in_ns = bench_now_ns() - before_ns;
        return 0;
    }
    waitpid(pid, NULL, 0);
    _exit(0);
}

static void run_case(const struct quiet_case *c, uint64_t ns, pid_t pid) {
    pid_t hogs[64];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned count = c->hogs ? (unsigned)(processors < 32 ? 2 * processors : 64) : 0;
    start_hogs(hogs, count);
    while (!run->watched && !run->failed && waitpid(pid, NULL, WNOHANG) == 0) {
        bench_sleep_ns(10 * BENCH_MS);
    }
    for (uint64_t from_ns = bench_now_ns(); c->disturb != NULL && bench_now_ns() - from_ns + STOP_NS < ns;) {
        c->disturb(pid);
        bench_sleep_ns(217 * BENCH_MS);
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    for (unsigned i = 0; i < count; i++) {
        kill(hogs[i], SIGKILL);
        waitpid(hogs[i], NULL, 0);
    }
}

static int report_case(const struct quiet_case *c) {
    char name[64];
    snprintf(name, sizeof name, "quiet.%s", c->name);
    if (c->other_clocks && run->thrown_in_ns == 0) {
        fprintf(stderr, "hangdog-bench: %s: left out: no time namespace may be made here\n", name);
        return 0;
    }
    if (run->failed || !run->watched || run->turns == 0) {
        fprintf(stderr, "hangdog-bench: %s: the loop did not run\n", name);
        return 1;
    }
    /* while it is stopped its own clock goes on: there a long turn explains nothing */
    unsigned explained = c->disturb != NULL ? 0 : run->over;
    double alarms = run->reports > explained ? run->reports - explained : 0;
    if (bench_options.verbose) {
        fprintf(stderr, "%s: %llu turns, %.0f a second; %u of the threshold or more; %u reports\n", name,
                (unsigned long long)run->turns, (double)run->turns * 1e9 / (double)run->ns, run->over,
                run->reports);
    }
    bench_report(name, alarms, "count", 0, alarms <= 0, NULL, NAN);
    return 0;
}

static int start_case(const struct quiet_case *c, uint64_t ns) {
    fflush(NULL);
    *run = (struct quiet_run){0};
    pid_t pid = c->other_clocks ? fork_with_other_clocks() : fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        run_loop(c->loop, ns);
        _exit(0);
    }
    if (c->group && !make_group(pid)) {
        fprintf(stderr, "hangdog-bench: quiet.%s: left out: no control group may be made here\n", c->name);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        rmdir(group);
        return 0;
    }
    run_case(c, ns, pid);
    if (c->group) {
        rmdir(group);
    }
    return report_case(c);
}

int bench_quiet(void) {
    static const struct quiet_case cases[] = {
        {"stopped", loop_half_busy, stop_it, false, false, false},
        {"frozen", loop_half_busy, freeze_it, true, false, false},
        {"clocks", loop_half_busy, NULL, false, false, true},
        {"loaded", loop_half_busy, NULL, false, true, false},
        {"often", loop_often, NULL, false, false, false},
        {"nested", loop_dialogs, NULL, false, false, false},
        {"game", loop_game, NULL, false, false, false},
    };
    int rc = 0;
    run = mmap(NULL, sizeof *run, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (run == MAP_FAILED) {
        return 1;
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rc = start_case(&cases[i], (bench_options.fast ? 2 : 12) * BENCH_S) != 0 ? 1 : rc;
    }
    return rc;
}
