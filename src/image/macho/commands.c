/* SPDX-License-Identifier: MIT */
#include "image/macho/commands.h"

bool hd_macho_first_command(struct hd_macho_commands *c, const struct hd_memory *memory, uint64_t header) {
    *c = (struct hd_macho_commands){.memory = memory};
    if (!hd_memory_read(memory, header, &c->header, sizeof c->header)) {
        c->fault = HD_MACHO_UNREADABLE;
        return false;
    }
    c->fault = hd_macho_fault_of_magic(c->header.magic);
    if (c->fault != HD_MACHO_FINE) {
        return false;
    }
    if (c->header.commands > HD_MACHO_COMMANDS_MAX ||
        c->header.commands_bytes > HD_MACHO_COMMANDS_BYTES_MAX) {
        c->fault = HD_MACHO_MANY_COMMANDS;
        return false;
    }
    c->remaining = c->header.commands;
    c->next = header + sizeof c->header;
    c->end = c->next + c->header.commands_bytes;
    if (c->end < header) {
        c->fault = HD_MACHO_COMMAND_SIZE;
        return false;
    }
    return true;
}

bool hd_macho_next_command(struct hd_macho_commands *c) {
    if (c->fault != HD_MACHO_FINE || c->remaining == 0) {
        return false;
    }
    c->at = c->next;
    if (c->end - c->at < sizeof c->head) {
        c->fault = HD_MACHO_COMMAND_SIZE;
        return false;
    }
    if (!hd_memory_read(c->memory, c->at, &c->head, sizeof c->head)) {
        c->fault = HD_MACHO_UNREADABLE;
        return false;
    }
    if (c->head.bytes < sizeof c->head || c->head.bytes > c->end - c->at) {
        c->fault = HD_MACHO_COMMAND_SIZE;
        return false;
    }
    c->next = c->at + c->head.bytes;
    c->remaining--;
    return true;
}

bool hd_macho_command_read(struct hd_macho_commands *c, void *to, size_t bytes) {
    if (c->head.bytes < bytes) {
        c->fault = HD_MACHO_COMMAND_SIZE;
        return false;
    }
    if (!hd_memory_read(c->memory, c->at, to, bytes)) {
        c->fault = HD_MACHO_UNREADABLE;
        return false;
    }
    return true;
}
