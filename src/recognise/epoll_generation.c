/* SPDX-License-Identifier: MIT */
#include "recognise/epoll_generation.h"

_Atomic uint32_t hd_epoll_counter[HD_EPOLL_COUNTERS];
