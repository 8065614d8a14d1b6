/* SPDX-License-Identifier: MIT
 *
 * Mach exceptions of the fake kernel: a fault becomes a message before it becomes a signal.
 */
#ifndef APPLE_LOADER_EXCEPTIONS_H
#define APPLE_LOADER_EXCEPTIONS_H

#include <stdint.h>

#include "gate.h"

/* If the program has taken the exception of signal `darwin`, sends the message and waits for its answer. `at`
 * has the registers of the fault. True: the receiver has handled it, so no signal follows. */
int exceptions_raise(int darwin, int code, uint64_t address, struct gate_registers *at);
/* The receive right of a port is gone. */
void exceptions_port_died(uint32_t port);

#endif
