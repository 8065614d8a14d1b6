/* SPDX-License-Identifier: MIT
 *
 * Numbers of Mach that several fakes use.
 */
#ifndef APPLE_LOADER_MACH_H
#define APPLE_LOADER_MACH_H

enum {
    KERN_SUCCESS = 0,
    KERN_INVALID_ADDRESS = 1,
    KERN_INVALID_ARGUMENT = 4,
    KERN_FAILURE = 5,
    KERN_INVALID_NAME = 15,
    KERN_INVALID_RIGHT = 17,
    KERN_TERMINATED = 37,
    KERN_OPERATION_TIMED_OUT = 49,
};

#endif
