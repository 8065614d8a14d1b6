/* SPDX-License-Identifier: MIT */
#include "agent/rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int needed[] = {CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHOWN};

static uint64_t needed_mask(void) {
    uint64_t mask = 0;
    for (unsigned i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        mask |= UINT64_C(1) << needed[i];
    }
    return mask;
}

int rights_drop(void) {
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct own[2] = {0};
    uint64_t mask = needed_mask();
    if (syscall(SYS_capget, &head, own) != 0) {
        return errno;
    }
    /* Fails without CAP_SETPCAP: then no_new_privs keeps an exec from more rights. */
    for (int cap = 0; cap < 64 && prctl(PR_CAPBSET_READ, cap) >= 0; cap++) {
        if ((mask >> cap & 1) == 0) {
            (void)prctl(PR_CAPBSET_DROP, cap);
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        own[i].permitted &= (uint32_t)(mask >> 32 * i);
        own[i].effective = own[i].permitted;
        own[i].inheritable = 0;
    }
    bool has_any = (own[0].permitted | own[1].permitted) != 0;
    if (syscall(SYS_capset, &head, own) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return errno;
    }
    /* Its memory has other users' names: not even its own user reads it. */
    return has_any && prctl(PR_SET_DUMPABLE, 0) != 0 ? errno : 0;
}
