/* SPDX-License-Identifier: MIT
 *
 * The gate: each call of Darwin code into a fake passes here. The gate stores the caller's registers on the
 * caller's stack. So a suspended thread shows the stub of a system library, never a function of the host. The
 * gate also checks calls between suspend and resume, and makes calls fail for a test.
 */
#ifndef APPLE_LOADER_GATE_H
#define APPLE_LOADER_GATE_H

#include <stdbool.h>
#include <stdint.h>

/* The registers of a caller; gate_x86_64.S and gate_aarch64.S know this layout. */
struct gate_registers {
    uint64_t general[32]; /* in the order of struct thread_registers; [31]: the stack pointer (arm64) */
    uint64_t vector[16];
    uint64_t pc; /* the stub, as a suspended thread shows it */
};

/* In assembly. */
extern void gate_entry(void);
extern void gate_return(void);
/* Calls `function` of Darwin code with three arguments, from the code at `stub` of a system library. */
uint64_t gate_call_darwin(uint64_t function, uint64_t a, uint64_t b, uint64_t c, uint64_t stub);
/* The thunk of thread-local variables. */
extern void gate_tls_thunk(void);

/* Called by the assembly. */
void *gate_enter(struct gate_registers *caller, uint32_t import);
void gate_leave(void);

/* Shows the calling thread in the stub of system call `name` with these arguments, until the fake returns. */
void gate_show(const char *name, uint64_t a, uint64_t b, uint64_t c, uint64_t d);

#endif
