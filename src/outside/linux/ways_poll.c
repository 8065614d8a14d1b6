/* SPDX-License-Identifier: MIT */
#include "outside/linux/ways.h"

#include "outside/linux/poll_hook.h"

const struct hd_hook_way hd_looks_way = {.name = "looks",
                                         .needs = "the program's own user, or CAP_SYS_PTRACE",
                                         .turns = HD_TURNS_POLLED,
                                         .open = hd_poll_hook_open,
                                         .close = hd_poll_hook_close,
                                         .watch = hd_poll_hook_watch,
                                         .unwatch = hd_poll_hook_unwatch,
                                         .judge = hd_poll_hook_judge,
                                         .read = hd_poll_hook_read,
                                         .times = hd_poll_hook_times,
                                         .suspect = hd_poll_hook_suspect,
                                         .step = hd_poll_hook_step,
                                         .descriptor = hd_poll_hook_descriptor};
