/* SPDX-License-Identifier: MIT
 *
 * The numbers and structures of 64-bit Mach-O images, as Apple's headers give them. This header serves
 * systems that lack those. All values are little-endian.
 */
#ifndef HD_IMAGE_MACHO_FORMAT_H
#define HD_IMAGE_MACHO_FORMAT_H

#include <stdint.h>

enum {
    HD_MACHO_MAGIC_64 = 0xfeedfacf,
    HD_MACHO_CPU_X86_64 = 0x01000007,
    HD_MACHO_CPU_ARM64 = 0x0100000c,
};

enum hd_macho_command { /* load commands */
    HD_LC_SYMTAB = 0x2,
    HD_LC_DYSYMTAB = 0xb,
    HD_LC_ID_DYLIB = 0xd,
    HD_LC_SEGMENT_64 = 0x19,
    HD_LC_UUID = 0x1b,
    HD_LC_DYLD_INFO = 0x22,
    HD_LC_VERSION_MIN_MACOSX = 0x24,
    HD_LC_VERSION_MIN_IPHONEOS = 0x25,
    HD_LC_FUNCTION_STARTS = 0x26,
    HD_LC_VERSION_MIN_TVOS = 0x2f,
    HD_LC_VERSION_MIN_WATCHOS = 0x30,
    HD_LC_BUILD_VERSION = 0x32,
};
#define HD_LC_DYLD_INFO_ONLY 0x80000022u
#define HD_LC_DYLD_EXPORTS_TRIE 0x80000033u

enum hd_macho_platform {
    HD_PLATFORM_MACOS = 1,
    HD_PLATFORM_IOS = 2,
    HD_PLATFORM_TVOS = 3,
    HD_PLATFORM_WATCHOS = 4,
    HD_PLATFORM_IOS_SIMULATOR = 7,
};

enum { /* struct hd_macho_header's file_type */
    HD_MACHO_OBJECT = 1,
    HD_MACHO_EXECUTE = 2,
    HD_MACHO_DYLIB = 6,
    HD_MACHO_DYLINKER = 7,
    HD_MACHO_BUNDLE = 8,
    HD_MACHO_DSYM = 10,
};

struct hd_macho_header {
    uint32_t magic;
    uint32_t cpu, cpu_subtype;
    uint32_t file_type;
    uint32_t commands, commands_bytes;
    uint32_t flags, reserved;
};

struct hd_macho_command_head {
    uint32_t command, bytes;
};

struct hd_macho_segment {
    uint32_t command, bytes;
    char name[16]; /* not always terminated */
    uint64_t address, memory_bytes;
    uint64_t offset, file_bytes;
    uint32_t max_protection, protection;
    uint32_t sections, flags;
};

struct hd_macho_section {
    char name[16], segment[16];
    uint64_t address, bytes;
    uint32_t offset, align;
    uint32_t relocations_offset, relocations;
    uint32_t flags, reserved[3];
};

struct hd_macho_symtab {
    uint32_t command, bytes;
    uint32_t symbols_offset, symbols;
    uint32_t strings_offset, strings_bytes;
};

struct hd_macho_dysymtab { /* its beginning */
    uint32_t command, bytes;
    uint32_t first_local, locals;
    uint32_t first_external, externals; /* defined and visible to other images */
    uint32_t first_undefined, undefineds;
};

struct hd_macho_linkedit_data {
    uint32_t command, bytes;
    uint32_t offset, data_bytes;
};

struct hd_macho_dyld_info {
    uint32_t command, bytes;
    uint32_t unused[8];
    uint32_t exports_offset, exports_bytes;
};

struct hd_macho_version { /* LC_BUILD_VERSION's beginning; X.Y.Z is X << 16 | Y << 8 | Z */
    uint32_t command, bytes;
    uint32_t platform, minimum, sdk;
};

struct hd_macho_version_min {
    uint32_t command, bytes;
    uint32_t minimum, sdk;
};

struct hd_macho_dylib {
    uint32_t command, bytes;
    uint32_t name; /* offset in the command */
    uint32_t time, current_version, compatibility_version;
};

struct hd_macho_symbol { /* nlist_64 */
    uint32_t name;       /* offset in the strings */
    uint8_t type, section;
    uint16_t description;
    uint64_t value;
};

enum { /* struct hd_macho_symbol's type and description */
    HD_MACHO_SYMBOL_DEBUG = 0xe0,
    HD_MACHO_SYMBOL_KIND = 0x0e,
    HD_MACHO_SYMBOL_IN_SECTION = 0x0e,
    HD_MACHO_SYMBOL_EXTERNAL = 0x01,
};

#endif
