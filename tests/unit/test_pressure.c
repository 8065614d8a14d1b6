/* SPDX-License-Identifier: MIT
 *
 * What a control group's files say of its quota, its pressure and its memory, of both versions of such
 * groups: a tree of files stands in for /sys/fs/cgroup and /proc.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cause/pressure.h"
#include "cause/throttled.h"
#include "folder.h"
#include "os/os.h"

static struct hd_os_calls real;
static char root[32];
static struct hd_probe_context ctx;

/* Absolute paths are below the tree. */
static int open_below(int dir, const char *path, int flags, int mode) {
    char below[600];
    snprintf(below, sizeof below, "%s%s", path[0] == '/' ? root : "", path);
    return real.open_at(dir, below, flags, mode);
}

static void put(const char *path, const char *text) {
    char at[600];
    snprintf(at, sizeof at, "%s%s", root, path);
    for (char *slash = at + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        assert_true(mkdir(at, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(at, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int set_up(void **state) {
    (void)state;
    snprintf(root, sizeof root, "/tmp/hangdog-test-XXXXXX");
    assert_non_null(mkdtemp(root));
    put("/proc/self/cgroup", "");
    real = hd_os;
    hd_os.open_at = open_below;
    ctx = (struct hd_probe_context){0};
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    hd_os = real;
    close(ctx.proc_fd);
    return folder_remove(root);
}

static void begin(const char *groups) {
    char path[600];
    put("/proc/self/cgroup", groups);
    snprintf(path, sizeof path, "%s/proc/self", root);
    ctx.proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(ctx.proc_fd >= 0);
    hd_throttled_init(&ctx);
    hd_pressure_init(&ctx);
}

static void version_2_has_quota_pressure_and_memory(void **state) {
    uint64_t stall_ns[HD_PRESSURES], used, limit;
    (void)state;
    put("/sys/fs/cgroup/a.slice/b/cpu.stat", "usage_usec 9\nnr_throttled 3\nthrottled_usec 1500\n");
    put("/sys/fs/cgroup/a.slice/b/memory.pressure",
        "some avg10=0.10 avg60=0.00 avg300=0.00 total=700\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n");
    put("/sys/fs/cgroup/a.slice/b/memory.current", "4096\n");
    put("/sys/fs/cgroup/a.slice/b/memory.max", "8192\n");
    put("/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=42\n");
    begin("0::/a.slice/b\n");
    assert_int_equal(hd_throttled_ns(&ctx), 1500 * HD_NS_PER_US);
    hd_pressure_read(&ctx, stall_ns);
    assert_int_equal(stall_ns[HD_PRESSURE_MEMORY], 700 * HD_NS_PER_US);
    assert_int_equal(stall_ns[HD_PRESSURE_CPU], 42 * HD_NS_PER_US); /* the machine's: the group has no file */
    assert_int_equal(stall_ns[HD_PRESSURE_IO], 0);
    hd_pressure_memory(&ctx, &used, &limit);
    assert_int_equal(used, 4096);
    assert_int_equal(limit, 8192);
    put("/sys/fs/cgroup/a.slice/b/cpu.stat", "usage_usec 9\nnr_throttled 4\nthrottled_usec 2500\n");
    assert_int_equal(hd_throttled_ns(&ctx), 2500 * HD_NS_PER_US);
    put("/sys/fs/cgroup/a.slice/b/memory.max", "max\n");
    hd_pressure_memory(&ctx, &used, &limit);
    assert_int_equal(limit, 0);
    assert_int_equal(used, 0);
}

static void version_1_has_quota_and_memory(void **state) {
    uint64_t used, limit;
    (void)state;
    put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.stat", "nr_periods 1\nnr_throttled 1\nthrottled_time 12345\n");
    put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "100\n"); /* a container sees its group as the root */
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "200\n");
    begin("5:memory:/m\n4:cpu,cpuacct:/a\n0::/\n");
    assert_int_equal(hd_throttled_ns(&ctx), 12345);
    hd_pressure_memory(&ctx, &used, &limit);
    assert_int_equal(used, 100);
    assert_int_equal(limit, 200);
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    hd_pressure_memory(&ctx, &used, &limit);
    assert_int_equal(limit, 0);
}

static void nothing_is_said_where_the_kernel_has_no_such_files(void **state) {
    uint64_t stall_ns[HD_PRESSURES], used, limit;
    (void)state;
    begin("");
    hd_pressure_read(&ctx, stall_ns);
    hd_pressure_memory(&ctx, &used, &limit);
    assert_int_equal(hd_throttled_ns(&ctx), 0);
    assert_int_equal(stall_ns[HD_PRESSURE_MEMORY] + stall_ns[HD_PRESSURE_CPU] + stall_ns[HD_PRESSURE_IO], 0);
    assert_int_equal(used + limit, 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(version_2_has_quota_pressure_and_memory),
        TEST(version_1_has_quota_and_memory),
        TEST(nothing_is_said_where_the_kernel_has_no_such_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
