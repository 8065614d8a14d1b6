/* SPDX-License-Identifier: MIT
 *
 * The ways of Linux. ways.c puts those of this build in their order.
 */
#ifndef HD_WAYS_H
#define HD_WAYS_H

#include "outside/hook.h"

extern const struct hd_hook_way hd_looks_way;

#endif
