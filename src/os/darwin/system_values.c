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

bool hd_system_has_debugger(void) {
    int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, getpid()};
    struct kinfo_proc info;
    size_t n = sizeof info;
    int saved = errno;
    memset(&info, 0, sizeof info);
    bool known = sysctl(name, sizeof name / sizeof name[0], &info, &n, NULL, 0) == 0;
    errno = saved;
    return known && (info.kp_proc.p_flag & P_TRACED) != 0;
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
