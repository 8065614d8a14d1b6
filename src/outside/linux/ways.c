/* SPDX-License-Identifier: MIT */
#include "outside/linux/ways.h"

static const struct hd_hook_way none = {.name = ""};

const struct hd_hook_way *const hd_hook_ways[] = {&hd_looks_way, &none};
