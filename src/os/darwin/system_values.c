/* SPDX-License-Identifier: MIT */
#include "os/darwin/system_values.h"

#include <TargetConditionals.h>
#include <errno.h>
#include <string.h>
#include <sys/sysctl.h>
#include <sys/types.h>
#include <unistd.h>

void hd_system_text(const char *name, char *text, size_t size) {
    size_t n = size - 1;
    int saved = errno;
    memset(text, 0, size);
    if (sysctlbyname(name, text, &n, NULL, 0) != 0) {
        text[0] = '\0'; /* a text that is too long is left out */
    }
    errno = saved;
}

uint64_t hd_system_number(const char *name) {
    uint64_t value = 0;
    size_t n = sizeof value;
    int saved = errno;
    if (sysctlbyname(name, &value, &n, NULL, 0) != 0 || n > sizeof value) {
        value = 0;
    }
    errno = saved;
    return value; /* both CPUs store the low bytes first */
}

/* The kernel stores nothing, and reports no error, if there is no process `pid`. */
static void read_process(int pid, struct kinfo_proc *info) {
    int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, pid};
    size_t n = sizeof *info;
    int saved = errno;
    memset(info, 0, n);
    if (sysctl(name, sizeof name / sizeof name[0], info, &n, NULL, 0) != 0) {
        memset(info, 0, sizeof *info);
    }
    errno = saved;
}

bool hd_system_has_debugger(void) {
    struct kinfo_proc info;
    read_process(getpid(), &info);
    return (info.kp_proc.p_flag & P_TRACED) != 0;
}

void hd_system_process_name(int pid, char name[16]) {
    struct kinfo_proc info;
    read_process(pid, &info);
    memcpy(name, info.kp_proc.p_comm, 16);
}

const char *hd_system_name(void) {
#if TARGET_OS_OSX
    return "macOS";
#elif TARGET_OS_SIMULATOR
    return "iOS Simulator";
#else
    return "iOS";
#endif
}

const char *hd_system_word(void) {
#if TARGET_OS_OSX
    return "macos";
#else
    return "ios";
#endif
}

/* On a Mac hw.machine is the CPU; on an iPhone hw.model is the board. */
const char *hd_system_model_name(void) {
#if TARGET_OS_OSX
    return "hw.model";
#else
    return "hw.machine";
#endif
}
