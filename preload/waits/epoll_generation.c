/* SPDX-License-Identifier: MIT */
#include "preload/waits/epoll_generation.h"

_Atomic uint32_t hd_epoll_counter[HD_EPOLL_COUNTERS];
