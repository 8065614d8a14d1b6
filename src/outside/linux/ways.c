/* SPDX-License-Identifier: MIT */
#include "outside/linux/ways.h"

#include <stddef.h>

const struct hd_hook_way *const hd_hook_ways[] = {&hd_looks_way, NULL};
