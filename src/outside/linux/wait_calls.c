/* SPDX-License-Identifier: MIT */
#include "outside/wait_calls.h"

#include <linux/io_uring.h>
#include <sys/syscall.h>

#include "os/syscall_table.h"

bool hd_wait_call_is(int32_t nr, const uint64_t args[6]) {
    if (nr == SYS_io_uring_enter) { /* the same call submits */
        return args[2] != 0 && (args[3] & IORING_ENTER_GETEVENTS) != 0;
    }
    return hd_syscall_wait(nr) == HD_WAIT_ANY;
}

bool hd_wait_call_has_object(int32_t nr) {
#ifdef SYS_epoll_wait
    if (nr == SYS_epoll_wait) {
        return true;
    }
#endif
    return nr == SYS_epoll_pwait || nr == SYS_epoll_pwait2 || nr == SYS_io_uring_enter;
}
