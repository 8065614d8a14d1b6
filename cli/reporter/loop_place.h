/* SPDX-License-Identifier: MIT
 *
 * Where the program's loop waits, or would: addresses of the record become a call, a function and a module.
 * The program can write the addresses; the modules are those that the kernel says it has.
 */
#ifndef CLI_LOOP_PLACE_H
#define CLI_LOOP_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct symbolizer;

struct loop_place {
    uint64_t caller_pc;           /* which it is of */
    bool of_program;              /* its module is the program's own file */
    char module[64];              /* as --loop takes it; empty: not known */
    char call[64], function[128]; /* with a symbolizer; empty: not known */
};

/* Fills `place` for a running process. `s` NULL: fills only the module. */
void loop_place_read(struct loop_place *place, pid_t pid, uint64_t call_pc, uint64_t caller_pc,
                     struct symbolizer *s);

#endif
