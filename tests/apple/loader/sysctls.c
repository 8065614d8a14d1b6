/* SPDX-License-Identifier: MIT
 *
 * sysctl: the few names that a watchdog reads, and one process's entry.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "errors.h"
#include "import.h"

static const struct {
    const char *name;
    const char *text; /* NULL: a number */
    int64_t number;
    size_t bytes;
} values[] = {
    {"hw.machine", "Loader1,1", 0, 0},
    {"hw.model", "Loader1,1", 0, 0},
    {"kern.osproductversion", "14.5", 0, 0},
    {"kern.osversion", "23F79", 0, 0},
    {"kern.osrelease", "23.5.0", 0, 0},
    {"kern.ostype", "Darwin", 0, 0},
    {"kern.version", "Darwin Kernel Version 23.5.0", 0, 0},
    {"kern.hostname", "loader.local", 0, 0},
    {"kern.bootsessionuuid", "6A8E1C2B-1111-4222-8333-944455566677", 0, 0},
    {"sysctl.proc_translated", NULL, 0, 4},
    {"hw.ncpu", NULL, 4, 4},
    {"hw.logicalcpu", NULL, 4, 4},
    {"hw.activecpu", NULL, 4, 4},
    {"hw.pagesize", NULL, 16384, 8},
};

static int store(const void *from, size_t bytes, void *out, size_t *size) {
    if (out && *size < bytes) {
        return errors_fail(ENOMEM);
    }
    if (out) {
        memcpy(out, from, bytes);
    }
    *size = bytes;
    return 0;
}

static int memory_size(void *out, size_t *size) {
    struct sysinfo info;
    sysinfo(&info);
    uint64_t bytes = (uint64_t)info.totalram * info.mem_unit;
    return store(&bytes, 8, out, size);
}

static int boot_time(void *out, size_t *size) {
    struct timespec wall, up;
    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_BOOTTIME, &up);
    int64_t value[2] = {wall.tv_sec - up.tv_sec, 0};
    return store(value, 16, out, size);
}

static int fake_sysctlbyname(const char *name, void *out, size_t *size, void *from, size_t bytes) {
    (void)bytes;
    if (from) {
        return errors_fail(EPERM);
    }
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        if (!strcmp(values[i].name, name)) {
            return values[i].text ? store(values[i].text, strlen(values[i].text) + 1, out, size)
                                  : store(&values[i].number, values[i].bytes, out, size);
        }
    }
    if (!strcmp(name, "hw.memsize")) {
        return memory_size(out, size);
    }
    return strcmp(name, "kern.boottime") ? errors_fail(ENOENT) : boot_time(out, size);
}

/* The wall time at which this process started: the loader's start. */
static struct timespec started;
__attribute__((constructor)) static void remember_start(void) {
    clock_gettime(CLOCK_REALTIME, &started);
}

#define KINFO_BYTES 648
#define KINFO_FLAG_AT 32
#define KINFO_PID_AT 40

static int process_entry(int pid, void *out, size_t *size) {
    uint8_t entry[KINFO_BYTES] = {0};
    if (pid != getpid()) {
        return store(entry, 0, out, size);
    }
    int64_t start[2] = {started.tv_sec, started.tv_nsec / 1000};
    memcpy(entry, start, sizeof start); /* kp_proc.p_starttime */
    memcpy(entry + KINFO_PID_AT, &pid, 4);
    memcpy(entry + 243, "loader", 7); /* p_comm */
    return store(entry, sizeof entry, out, size);
}

static int fake_sysctl(const int *name, unsigned count, void *out, size_t *size, void *from, size_t bytes) {
    static const struct {
        int first, second;
        const char *name;
    } known[] = {{1, 65, "kern.osversion"}, {1, 2, "kern.osrelease"}, {1, 1, "kern.ostype"},
                 {1, 10, "kern.hostname"},  {1, 21, "kern.boottime"}, {6, 1, "hw.machine"},
                 {6, 2, "hw.model"},        {6, 24, "hw.memsize"},    {6, 3, "hw.ncpu"}};
    if (count == 4 && name[0] == 1 && name[1] == 14 && name[2] == 1) { /* KERN_PROC_PID */
        return process_entry(name[3], out, size);
    }
    for (size_t i = 0; count == 2 && i < sizeof known / sizeof known[0]; i++) {
        if (known[i].first == name[0] && known[i].second == name[1]) {
            return fake_sysctlbyname(known[i].name, out, size, from, bytes);
        }
    }
    return errors_fail(ENOENT);
}

static int fake_gethostname(char *out, size_t n) {
    return snprintf(out, n, "loader.local") < (int)n ? 0 : errors_fail(ENAMETOOLONG);
}

struct names {
    char values[5][256];
};

static int fake_uname(struct names *out) {
    static const char *const texts[5] = {
        "Darwin",
        "loader.local",
        "23.5.0",
        "Darwin Kernel Version 23.5.0",
#if defined(__aarch64__)
        "arm64"
#else
        "x86_64"
#endif
    };
    for (int i = 0; i < 5; i++) {
        snprintf(out->values[i], 256, "%s", texts[i]);
    }
    return 0;
}

const struct import imports_of_sysctl[] = {
    KERNEL("sysctl", fake_sysctl, 202),
    KERNEL("sysctlbyname", fake_sysctlbyname, 274),
    LIBRARY("gethostname", fake_gethostname),
    LIBRARY("uname", fake_uname),
    IMPORT_END,
};
