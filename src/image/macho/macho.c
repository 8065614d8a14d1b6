/* SPDX-License-Identifier: MIT
 *
 * Offsets of the file are kept until all commands are read: the segment __LINKEDIT turns them into addresses,
 * and any order of commands is valid.
 */
#include "image/macho/macho.h"

#include <string.h>

#include "image/macho/commands.h"

#define SECTIONS_AT_ONCE 16u

/* A table by its place in the file. */
struct table {
    uint64_t offset, bytes;
};

struct reading {
    struct hd_macho_commands commands;
    struct hd_macho_tables *out;
    struct hd_macho_segment text, linkedit;
    bool has_text, has_linkedit;
    struct table symbols, strings, starts, exports;
};

static bool is_named(const char name[16], const char *expected) {
    return strncmp(name, expected, 16) == 0;
}

/* A fault that costs one table only. */
static void left_out(struct reading *r, uint8_t fault) {
    r->out->fault = fault;
}

static void take_section(struct reading *r, const struct hd_macho_section *s) {
    static const char stubs[][16] = {"__stubs", "__auth_stubs", "__objc_stubs", "__stub_helper"};
    struct hd_macho_tables *out = r->out;
    uint64_t inside = s->address - r->text.address;
    if (s->bytes == 0) {
        return;
    }
    bool is_outside = inside > r->text.memory_bytes || s->bytes > r->text.memory_bytes - inside;
    uint64_t at = out->text + inside;
    if (is_named(s->name, "__unwind_info") || is_named(s->name, "__eh_frame")) {
        bool is_compact = s->name[2] == 'u';
        if (is_outside) {
            left_out(r, HD_MACHO_SECTION_OUTSIDE);
            return;
        }
        *(is_compact ? &out->unwind_info : &out->eh_frame) = at;
        *(is_compact ? &out->unwind_info_bytes : &out->eh_frame_bytes) = s->bytes;
    }
    for (size_t i = 0; i < sizeof stubs / sizeof stubs[0]; i++) {
        if (!is_named(s->name, stubs[i]) || out->stub_ranges == HD_MACHO_STUBS_MAX) {
            continue;
        }
        if (is_outside) {
            left_out(r, HD_MACHO_SECTION_OUTSIDE);
            return;
        }
        out->stubs[out->stub_ranges++] = (struct hd_macho_range){at, at + s->bytes};
    }
}

/* The sections of __TEXT; the command's size bounds their number. */
static bool take_sections(struct reading *r) {
    struct hd_macho_section sections[SECTIONS_AT_ONCE];
    uint64_t at = r->commands.at + sizeof r->text;
    for (uint32_t remaining = r->text.sections; remaining > 0;) {
        uint32_t n = remaining < SECTIONS_AT_ONCE ? remaining : SECTIONS_AT_ONCE;
        if (!hd_memory_read(r->commands.memory, at, sections, n * sizeof sections[0])) {
            r->commands.fault = HD_MACHO_UNREADABLE;
            return false;
        }
        for (uint32_t i = 0; i < n; i++) {
            take_section(r, &sections[i]);
        }
        at += n * sizeof sections[0];
        remaining -= n;
    }
    return true;
}

static bool take_segment(struct reading *r) {
    struct hd_macho_segment s;
    if (!hd_macho_command_read(&r->commands, &s, sizeof s)) {
        return false;
    }
    if (s.address + s.memory_bytes < s.address || s.offset + s.file_bytes < s.offset ||
        (uint64_t)s.sections * sizeof(struct hd_macho_section) > s.bytes - sizeof s) {
        r->commands.fault = HD_MACHO_SEGMENT_RANGE;
        return false;
    }
    if (is_named(s.name, "__LINKEDIT") && !r->has_linkedit) {
        r->linkedit = s;
        r->has_linkedit = true;
    }
    if (!is_named(s.name, "__TEXT") || r->has_text) {
        return true;
    }
    r->text = s;
    r->has_text = true;
    r->out->slide = r->out->text - s.address;
    r->out->text_bytes = s.memory_bytes;
    if (r->out->text + s.memory_bytes < r->out->text) {
        r->commands.fault = HD_MACHO_SEGMENT_RANGE;
        return false;
    }
    return take_sections(r);
}

static bool take_symtab(struct reading *r) {
    struct hd_macho_symtab s;
    if (!hd_macho_command_read(&r->commands, &s, sizeof s)) {
        return false;
    }
    r->symbols = (struct table){s.symbols_offset, (uint64_t)s.symbols * sizeof(struct hd_macho_symbol)};
    r->strings = (struct table){s.strings_offset, s.strings_bytes};
    return true;
}

static bool take_dysymtab(struct reading *r) {
    struct hd_macho_dysymtab d;
    if (!hd_macho_command_read(&r->commands, &d, sizeof d)) {
        return false;
    }
    r->out->first_external = d.first_external;
    r->out->externals = d.externals;
    return true;
}

static bool take_linkedit_data(struct reading *r, struct table *to) {
    struct hd_macho_linkedit_data d;
    if (!hd_macho_command_read(&r->commands, &d, sizeof d)) {
        return false;
    }
    *to = (struct table){d.offset, d.data_bytes};
    return true;
}

static bool take_dyld_info(struct reading *r) {
    struct hd_macho_dyld_info d;
    if (!hd_macho_command_read(&r->commands, &d, sizeof d)) {
        return false;
    }
    r->exports = (struct table){d.exports_offset, d.exports_bytes};
    return true;
}

static bool take_uuid(struct reading *r) {
    uint8_t command[24];
    if (!hd_macho_command_read(&r->commands, command, sizeof command)) {
        return false;
    }
    memcpy(r->out->uuid, command + 8, sizeof r->out->uuid);
    r->out->has_uuid = true;
    return true;
}

static bool take_build_version(struct reading *r) {
    struct hd_macho_version v;
    if (!hd_macho_command_read(&r->commands, &v, sizeof v)) {
        return false;
    }
    r->out->platform = v.platform;
    r->out->minimum = v.minimum;
    r->out->sdk = v.sdk;
    return true;
}

static bool take_version_min(struct reading *r, uint32_t platform) {
    struct hd_macho_version_min v;
    if (!hd_macho_command_read(&r->commands, &v, sizeof v)) {
        return false;
    }
    r->out->platform = platform;
    r->out->minimum = v.minimum;
    r->out->sdk = v.sdk;
    return true;
}

static bool take_name(struct reading *r) {
    struct hd_macho_dylib d;
    if (!hd_macho_command_read(&r->commands, &d, sizeof d)) {
        return false;
    }
    if (d.name < sizeof d || d.name >= d.bytes) {
        r->commands.fault = HD_MACHO_COMMAND_SIZE;
        return false;
    }
    r->out->name = r->commands.at + d.name;
    r->out->name_bytes = d.bytes - d.name;
    return true;
}

static bool take_command(struct reading *r) {
    switch (r->commands.head.command) {
    case HD_LC_SEGMENT_64:
        return take_segment(r);
    case HD_LC_SYMTAB:
        return take_symtab(r);
    case HD_LC_DYSYMTAB:
        return take_dysymtab(r);
    case HD_LC_FUNCTION_STARTS:
        return take_linkedit_data(r, &r->starts);
    case HD_LC_DYLD_EXPORTS_TRIE:
        return take_linkedit_data(r, &r->exports);
    case HD_LC_DYLD_INFO:
    case HD_LC_DYLD_INFO_ONLY:
        return take_dyld_info(r);
    case HD_LC_UUID:
        return take_uuid(r);
    case HD_LC_BUILD_VERSION:
        return take_build_version(r);
    case HD_LC_VERSION_MIN_MACOSX:
        return take_version_min(r, HD_PLATFORM_MACOS);
    case HD_LC_VERSION_MIN_IPHONEOS:
        return take_version_min(r, HD_PLATFORM_IOS);
    case HD_LC_VERSION_MIN_TVOS:
        return take_version_min(r, HD_PLATFORM_TVOS);
    case HD_LC_VERSION_MIN_WATCHOS:
        return take_version_min(r, HD_PLATFORM_WATCHOS);
    case HD_LC_ID_DYLIB:
        return take_name(r);
    default:
        return true;
    }
}

/* The address of a table of __LINKEDIT, 0: the image has none. */
static uint64_t address_of(struct reading *r, const struct table *t) {
    uint64_t inside = t->offset - r->linkedit.offset;
    if (t->bytes == 0) {
        return 0;
    }
    uint64_t bytes = r->linkedit.file_bytes;
    if (!r->has_linkedit || bytes > r->linkedit.memory_bytes || inside > bytes || t->bytes > bytes - inside) {
        left_out(r, HD_MACHO_TABLE_OUTSIDE);
        return 0;
    }
    return r->linkedit.address + r->out->slide + inside;
}

static void set_tables(struct reading *r) {
    struct hd_macho_tables *out = r->out;
    out->function_starts = address_of(r, &r->starts);
    out->function_starts_bytes = out->function_starts != 0 ? r->starts.bytes : 0;
    out->exports = address_of(r, &r->exports);
    out->exports_bytes = out->exports != 0 ? r->exports.bytes : 0;
    out->symbols = address_of(r, &r->symbols);
    out->strings = address_of(r, &r->strings);
    if (out->symbols == 0 || out->strings == 0) {
        out->symbols = out->strings = 0;
        out->first_external = out->externals = 0;
        return;
    }
    out->symbol_count = r->symbols.bytes / sizeof(struct hd_macho_symbol);
    out->strings_bytes = r->strings.bytes;
    if (out->first_external > out->symbol_count || out->externals > out->symbol_count - out->first_external) {
        out->first_external = out->externals = 0;
        left_out(r, HD_MACHO_TABLE_OUTSIDE);
    }
}

int hd_macho_tables_read(const struct hd_memory *memory, uint64_t header, struct hd_macho_tables *out) {
    struct reading r = {.out = out};
    *out = (struct hd_macho_tables){.text = header};
    bool good = hd_macho_first_command(&r.commands, memory, header);
    while (good && hd_macho_next_command(&r.commands)) {
        good = take_command(&r);
    }
    if (r.commands.fault == HD_MACHO_FINE && !r.has_text) {
        r.commands.fault = HD_MACHO_NO_TEXT;
    }
    if (r.commands.fault != HD_MACHO_FINE) {
        *out = (struct hd_macho_tables){.text = header, .fault = r.commands.fault};
        return hd_macho_fault_errno(r.commands.fault);
    }
    out->cpu = r.commands.header.cpu;
    out->cpu_subtype = r.commands.header.cpu_subtype;
    out->file_type = r.commands.header.file_type;
    set_tables(&r);
    return 0;
}

bool hd_macho_is_stub(const struct hd_macho_tables *t, uint64_t pc) {
    for (uint32_t i = 0; i < t->stub_ranges; i++) {
        if (pc >= t->stubs[i].lo && pc < t->stubs[i].hi) {
            return true;
        }
    }
    return false;
}
