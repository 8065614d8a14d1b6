/* SPDX-License-Identifier: MIT
 *
 * Work leaves a control group with a CPU quota, and returns to it; where that is not allowed it takes a part
 * of the quota.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/cpu_quota.h"

#define MOUNT "/sys/fs/cgroup/cpu"
#define NS_PER_MS 1000000u

static char group[128];

static bool put(const char *folder, const char *file, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *f = fopen(path, "we");
    bool well = f != NULL && fputs(text, f) >= 0;
    return f != NULL && fclose(f) == 0 && well;
}

static bool is_in_group(void) {
    char line[256];
    bool found = false;
    FILE *f = fopen("/proc/self/cgroup", "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        found |= strstr(line, group + sizeof MOUNT - 1) != NULL;
    }
    if (f != NULL) {
        fclose(f);
    }
    return found;
}

static uint64_t now_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t wall_of_cpu(uint64_t cpu_ns) {
    uint64_t from_ns = now_ns(CLOCK_MONOTONIC), until_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
    while (now_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns) {
    }
    return now_ns(CLOCK_MONOTONIC) - from_ns;
}

static int make_group(void **state) {
    (void)state;
    snprintf(group, sizeof group, MOUNT "/hangdog-test-%d", (int)getpid());
    bool made = mkdir(group, 0755) == 0 && put(group, "cpu.cfs_period_us", "100000") &&
                put(group, "cpu.cfs_quota_us", "80000") && put(group, "cgroup.procs", "0");
    if (!made) {
        print_message("no control group with a CPU quota of version 1 can be made here\n");
        rmdir(group);
        group[0] = '\0';
    }
    return 0;
}

static int remove_group(void **state) {
    (void)state;
    if (group[0] != '\0') {
        put(MOUNT, "cgroup.procs", "0");
        rmdir(group);
    }
    return 0;
}

static void the_work_leaves_the_group_and_returns(void **state) {
    (void)state;
    if (group[0] == '\0') {
        skip();
    }
    assert_true(is_in_group());
    cpu_quota_leave(NULL, NULL);
    assert_false(is_in_group());
    cpu_quota_return();
    assert_true(is_in_group());
}

/* 40 ms of CPU time at a fifth of a CPU. */
static void without_the_right_the_work_takes_a_part_of_the_quota(void **state) {
    (void)state;
    if (group[0] == '\0') {
        skip();
    }
    pid_t child = fork();
    if (child == 0) {
        atomic_bool ends = false;
        bool well = seteuid(65534) == 0;
        cpu_quota_leave(&ends, NULL);
        well = well && is_in_group() && wall_of_cpu(40 * NS_PER_MS) > 120 * NS_PER_MS;
        cpu_quota_return();
        _exit(well ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_work_leaves_the_group_and_returns),
        cmocka_unit_test(without_the_right_the_work_takes_a_part_of_the_quota),
    };
    return cmocka_run_group_tests(tests, make_group, remove_group);
}
