/* SPDX-License-Identifier: MIT
 *
 * Walks the load commands of a Mach-O image in memory. Every value may be garbage: each read may fail, and
 * each size is checked. Any thread; no allocation.
 */
#ifndef HD_IMAGE_MACHO_COMMANDS_H
#define HD_IMAGE_MACHO_COMMANDS_H

#include "base/memory.h"
#include "image/macho/fault.h"
#include "image/macho/format.h"

#define HD_MACHO_COMMANDS_MAX 4096u            /* more are a fault */
#define HD_MACHO_COMMANDS_BYTES_MAX (1u << 20) /* the same */

struct hd_macho_commands {
    const struct hd_memory *memory;
    struct hd_macho_header header;
    struct hd_macho_command_head head; /* of the present command */
    uint64_t at;                       /* the present command */
    uint64_t next, end;
    uint32_t remaining;
    uint8_t fault; /* enum hd_macho_fault */
};

/* Reads the header. Then `hd_macho_next_command` gives the first command. False: see `fault`. */
bool hd_macho_first_command(struct hd_macho_commands *c, const struct hd_memory *memory, uint64_t header);

/* Moves to the next command. False: there is none, or the commands are broken: see `fault`. */
bool hd_macho_next_command(struct hd_macho_commands *c);

/* Copies the beginning of the present command. False: it is too short, or unreadable: see `fault`. */
bool hd_macho_command_read(struct hd_macho_commands *c, void *to, size_t bytes);

#endif
