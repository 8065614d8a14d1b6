/* SPDX-License-Identifier: MIT
 *
 * The library that `hangdog run` inserts into a program on macOS (libhangdog-insert.dylib). Its constructor
 * starts Hangdog with the options of the environment, and watches the main thread.
 */
#ifndef HD_INSERT_H
#define HD_INSERT_H

#include "preload/darwin/main_waits.h"

extern struct hd_main_waits hd_insert_waits;

#endif
