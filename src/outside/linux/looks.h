/* SPDX-License-Identifier: MIT
 *
 * The way `looks`, hd_looks_way in ways.h: polls.
 */
#ifndef HD_LOOKS_H
#define HD_LOOKS_H

#include "outside/linux/ways.h"

#endif
