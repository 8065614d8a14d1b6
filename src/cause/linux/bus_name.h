/* SPDX-License-Identifier: MIT
 *
 * Finds the D-Bus service that a blocked call waits for. Runs on the worker thread; allocates nothing.
 *
 * The stack of the thread has pointers to the library's message. The message has the service's name as its
 * destination. A message counts only if each part that the search reads is valid, such as the count of
 * references, the object path and the destination. If the stack has messages to several services, none
 * counts.
 */
#ifndef HD_BUS_NAME_H
#define HD_BUS_NAME_H

#include "base/memory.h"
#include "base/types.h"

#define HD_BUS_NAME_BYTES 256

struct hd_bus_message {
    char service[HD_BUS_NAME_BYTES];   /* the destination */
    char interface[HD_BUS_NAME_BYTES]; /* empty: none */
};

enum hd_bus_library {
    HD_BUS_GLIB,
    HD_BUS_QT,
    HD_BUS_LIBDBUS,
    HD_BUS_SYSTEMD,
};

/* Searches the first `bytes` bytes of the stack copy in capture `c`, from the stack pointer on. False: no
 * message, or messages to several services. */
bool hd_bus_name_find(const struct hd_memory *memory, const struct hd_capture *c, uint32_t bytes,
                      enum hd_bus_library library, struct hd_bus_message *out);

#endif
