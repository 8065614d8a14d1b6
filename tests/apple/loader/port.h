/* SPDX-License-Identifier: MIT
 *
 * Names of ports and the user references of their send rights, so that a test can count what leaks.
 */
#ifndef APPLE_LOADER_PORT_H
#define APPLE_LOADER_PORT_H

#include <stdint.h>

enum port_kind {
    PORT_NONE,
    PORT_TASK,
    PORT_HOST,
    PORT_THREAD,
    PORT_SEMAPHORE,
    PORT_RECEIVE
};

#define PORTS 4096
#define PORT_TASK_SELF 0x103u

/* A new name without a reference. Its low two bits are set, as the kernel's are. */
uint32_t port_new(enum port_kind kind, void *object);
/* Adds a reference; the name itself is the result. */
uint32_t port_retain(uint32_t name);
/* Removes a reference. */
void port_drop(uint32_t name);
/* The kernel's object of a name; NULL: another kind, or none. */
void *port_object(uint32_t name, enum port_kind kind);
/* The object is gone. The name is free once no reference remains. */
void port_object_ended(uint32_t name);

/* The object is gone, and the caller's reference with it. */
void port_release_name(uint32_t name);

#endif
