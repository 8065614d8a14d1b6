/* SPDX-License-Identifier: MIT
 *
 * Writes the network address of a peer for the user. Pure: no allocation, no system call.
 */
#ifndef HD_ADDRESS_H
#define HD_ADDRESS_H

#include "base/text.h"

/* Appends, for example, "192.0.2.1:5432" or "[2001:db8::1]:443". `address` has 4 bytes, or 16 if `v6` is
 * true, in network byte order. */
void hd_address_add(struct hd_text *t, const uint8_t *address, bool v6, uint32_t port);

#endif
