/* SPDX-License-Identifier: MIT
 *
 * The parts of Mach-O that the loader reads. Written anew, not shared with src/image: a mistake there must
 * not be repeated here.
 */
#ifndef APPLE_LOADER_MACHO_H
#define APPLE_LOADER_MACHO_H

#include <stdint.h>

#define MACHO_MAGIC 0xfeedfacfu
#define MACHO_CPU_X86_64 0x01000007u
#define MACHO_CPU_ARM64 0x0100000cu

enum { /* load commands */
    LC_SEGMENT_64 = 0x19,
    LC_SYMTAB = 0x2,
    LC_LOAD_DYLIB = 0xc,
    LC_ID_DYLIB = 0xd,
    LC_DYLD_INFO = 0x22,
    LC_DYLD_INFO_ONLY = (int)0x80000022,
    LC_DYLD_CHAINED_FIXUPS = (int)0x80000034,
    LC_LOAD_WEAK_DYLIB = (int)0x80000018,
    LC_MAIN = (int)0x80000028,
};

enum { /* types of sections: the low byte of their flags */
    S_MOD_INIT_FUNC_POINTERS = 0x9,
    S_THREAD_LOCAL_REGULAR = 0x11,
    S_THREAD_LOCAL_ZEROFILL = 0x12,
    S_THREAD_LOCAL_VARIABLES = 0x13,
};

struct macho_header {
    uint32_t magic, cpu, cpu_subtype, file_type, commands, command_bytes, flags, reserved;
};

struct macho_command {
    uint32_t kind, bytes;
};

struct macho_segment {
    uint32_t kind, bytes;
    char name[16];
    uint64_t address, size, file_offset, file_size;
    uint32_t protection_max, protection, sections, flags;
};

struct macho_section {
    char name[16], segment[16];
    uint64_t address, size;
    uint32_t offset, align, relocations, relocation_count, flags, reserved[3];
};

struct macho_symtab {
    uint32_t kind, bytes, symbols, count, strings, string_bytes;
};

struct macho_symbol {
    uint32_t name;
    uint8_t type, section;
    uint16_t description;
    uint64_t value;
};

struct macho_dyld_info {
    uint32_t kind, bytes, rebase, rebase_bytes, bind, bind_bytes, weak, weak_bytes, lazy, lazy_bytes;
};

struct macho_linkedit { /* LC_DYLD_CHAINED_FIXUPS */
    uint32_t kind, bytes, offset, size;
};

struct macho_dylib {
    uint32_t kind, bytes, name, timestamp, current, compatible;
};

struct macho_entry { /* LC_MAIN */
    uint32_t kind, bytes;
    uint64_t offset, stack;
};

#endif
