/* SPDX-License-Identifier: MIT
 *
 * For tests of kernels and containers that deny a system call: a seccomp filter on the calling process, for
 * good.
 */
#ifndef TEST_DENIED_H
#define TEST_DENIED_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* In a process that is no test itself, where none may fail: it ends. */
#define CHECK(what)                                                            \
    do {                                                                       \
        if (!(what)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __func__, __LINE__, #what); \
            _exit(1);                                                          \
        }                                                                      \
    } while (0)

/* From now on the call answers `error`. False: no filter can be had here. */
static inline bool deny(long call, int error) {
    struct sock_filter one[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
                                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
                                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof one / sizeof one[0], one};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#endif
