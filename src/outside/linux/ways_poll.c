/* SPDX-License-Identifier: MIT */
#include "outside/linux/poll_hook.h"
#include "outside/linux/ways.h"

#define SHARED                                                                                             \
    .close = hd_poll_hook_close, .watch = hd_poll_hook_watch, .unwatch = hd_poll_hook_unwatch,             \
    .judge = hd_poll_hook_judge, .read = hd_poll_hook_read, .long_turns = hd_poll_hook_long_turns,         \
    .free_places = hd_poll_hook_free_places, .times = hd_poll_hook_times, .suspect = hd_poll_hook_suspect, \
    .step = hd_poll_hook_step, .descriptor = hd_poll_hook_descriptor

#define NEEDS "root, or the program's own user and kernel.perf_event_paranoid <= 2; breakpoints"

const struct hd_hook_way hd_looks_way = {.name = "looks",
                                         .needs = "the program's own user, or root",
                                         .turns = HD_TURNS_POLLED,
                                         .open = hd_poll_hook_open,
                                         SHARED};

const struct hd_hook_way hd_counter_way = {
    .name = "counter", .needs = NEEDS, .turns = HD_TURNS_POLLED, .open = hd_poll_hook_open_counter, SHARED};

const struct hd_hook_way hd_records_way = {.name = "records",
                                           .needs = NEEDS,
                                           .turns = HD_TURNS_EXACT_IF_BLOCKED,
                                           .open = hd_poll_hook_open_records,
                                           SHARED};
