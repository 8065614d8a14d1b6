/* SPDX-License-Identifier: MIT
 *
 * The layouts are those of <mach-o/fat.h>, <mach-o/loader.h> and <mach-o/nlist.h>.
 */
#include "symbolizer/macho_slice.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAGIC_64 = (int)0xfeedfacf,
    MAGIC_FAT = (int)0xcafebabe,
    MAGIC_FAT_64 = (int)0xcafebabf,
    CPU_X86_64 = 0x01000007,
    CPU_ARM64 = 0x0100000c,
    COMMAND_SEGMENT = 0x19,
    COMMAND_SYMBOLS = 0x2,
    COMMAND_UUID = 0x1b,
    COMMAND_STARTS = 0x26,
    COMMANDS_MAX = 4096,
    ATTRIBUTE_CODE = (int)0x80000000 | 0x400, /* S_ATTR_PURE_INSTRUCTIONS, S_ATTR_SOME_INSTRUCTIONS */
    TYPE_ZEROFILL = 1,
    STAB = 0xe0,      /* N_STAB: a symbol for debuggers */
    TYPE = 0x0e,      /* N_TYPE */
    IN_SECTION = 0xe, /* N_SECT */
    SYMBOLS_MAX_COUNT = 16 << 20,
};

struct header {
    uint32_t magic, cpu, subtype, type, commands, commands_bytes, flags, reserved;
};
struct fat_32 {
    uint32_t cpu, subtype, offset, bytes, align;
};
struct fat_64 {
    uint32_t cpu, subtype;
    uint64_t offset, bytes;
    uint32_t align, reserved;
};
struct command {
    uint32_t kind, bytes;
};
struct segment {
    uint32_t kind, bytes;
    char name[16];
    uint64_t address, memory_bytes, offset, file_bytes;
    uint32_t protection[2], sections, flags;
};
struct section {
    char name[16], segment[16];
    uint64_t address, bytes;
    uint32_t offset, align, relocations[2], flags, reserved[3];
};
struct symbol_table {
    uint32_t kind, bytes, symbols, count, names, names_bytes;
};
struct link_data {
    uint32_t kind, bytes, offset, data_bytes;
};
struct nlist {
    uint32_t name;
    uint8_t type, section;
    uint16_t description;
    uint64_t value;
};

static bool read_at(struct macho_bytes from, uint64_t offset, void *to, size_t n) {
    if (offset > from.n || n > from.n - offset) {
        return false;
    }
    memcpy(to, from.at + offset, n);
    return true;
}

static bool is_inside(struct macho_bytes in, uint64_t offset, uint64_t n) {
    return offset <= in.n && n <= in.n - offset;
}

static struct macho_bytes bytes_of(struct macho_bytes file, const struct macho_slice *slice) {
    return (struct macho_bytes){file.at + slice->offset, slice->bytes};
}

/* Calls `visit` with the offset of each load command. False: the commands are broken. */
static bool each_command(struct macho_bytes slice,
                         bool (*visit)(void *to, struct macho_bytes slice, uint64_t at,
                                       const struct command *c),
                         void *to) {
    struct header head;
    if (!read_at(slice, 0, &head, sizeof head) || head.magic != (uint32_t)MAGIC_64 ||
        head.commands > COMMANDS_MAX) {
        return false;
    }
    uint64_t at = sizeof head;
    for (uint32_t i = 0; i < head.commands; i++) {
        struct command c;
        if (!read_at(slice, at, &c, sizeof c) || c.bytes < sizeof c || !is_inside(slice, at, c.bytes) ||
            !visit(to, slice, at, &c)) {
            return false;
        }
        at += c.bytes;
    }
    return true;
}

/* ---- slices ----------------------------------------------------------------------------------- */

static bool take_id(void *to, struct macho_bytes slice, uint64_t at, const struct command *c) {
    struct macho_slice *out = to;
    if (c->kind == COMMAND_UUID && c->bytes >= sizeof *c + sizeof out->id) {
        out->has_id = read_at(slice, at + sizeof *c, out->id, sizeof out->id);
    }
    return true;
}

static bool add_slice(struct macho_bytes file, uint64_t offset, uint64_t bytes, struct macho_slice *out) {
    struct header head;
    *out = (struct macho_slice){.offset = offset, .bytes = bytes};
    if (!is_inside(file, offset, bytes) || !read_at(bytes_of(file, out), 0, &head, sizeof head) ||
        (head.cpu != CPU_X86_64 && head.cpu != CPU_ARM64)) {
        return false;
    }
    out->cpu = head.cpu;
    return each_command(bytes_of(file, out), take_id, out);
}

/* The table of slices is big-endian. */
unsigned macho_slices(struct macho_bytes file, struct macho_slice out[MACHO_SLICES_MAX]) {
    uint32_t first[2];
    unsigned n = 0;
    if (!read_at(file, 0, first, sizeof first)) {
        return 0;
    }
    if (first[0] == (uint32_t)MAGIC_64) {
        return add_slice(file, 0, file.n, &out[0]) ? 1 : 0;
    }
    bool wide = __builtin_bswap32(first[0]) == (uint32_t)MAGIC_FAT_64;
    uint32_t count = __builtin_bswap32(first[1]);
    if (!wide && __builtin_bswap32(first[0]) != (uint32_t)MAGIC_FAT) {
        return 0;
    }
    for (uint32_t i = 0; i < count && i < MACHO_SLICES_MAX; i++) {
        struct fat_32 narrow;
        struct fat_64 entry;
        if (wide ? !read_at(file, sizeof first + i * sizeof entry, &entry, sizeof entry)
                 : !read_at(file, sizeof first + i * sizeof narrow, &narrow, sizeof narrow)) {
            break;
        }
        uint64_t offset = wide ? __builtin_bswap64(entry.offset) : __builtin_bswap32(narrow.offset);
        uint64_t bytes = wide ? __builtin_bswap64(entry.bytes) : __builtin_bswap32(narrow.bytes);
        n += add_slice(file, offset, bytes, &out[n]);
    }
    return n;
}

/* ---- one slice -------------------------------------------------------------------------------- */

struct reading {
    struct elf_head *out;
    uint64_t text; /* the address of __TEXT */
    struct symbol_table table;
    struct link_data starts;
};

/* The names of sections have at most 16 characters in Mach-O: .debug_str_offsets is cut there. */
static void name_section(char to[ELF_HEAD_NAME_BYTES], const char from[16]) {
    size_t n = strnlen(from, 16);
    const char *plain = n > 2 && memcmp(from, "__", 2) == 0 ? from + 2 : from;
    n -= (size_t)(plain - from);
    to[0] = '.';
    memcpy(to + 1, plain, n);
    to[1 + n] = '\0';
    if (strcmp(to, ".debug_str_offs") == 0) {
        strcpy(to, ".debug_str_offsets");
    }
}

static void add_section(struct elf_head *out, const struct section *s, bool is_debug) {
    bool is_code = !is_debug && (s->flags & (uint32_t)ATTRIBUTE_CODE) != 0;
    if ((!is_code && !is_debug) || out->sections == ELF_HEAD_SECTIONS_MAX ||
        s->bytes > UINT64_MAX - s->address) {
        return;
    }
    struct elf_head_section *to = &out->section[out->sections++];
    *to = (struct elf_head_section){.address = is_code ? s->address : 0,
                                    .offset = s->offset,
                                    .bytes = s->bytes,
                                    .is_code = is_code,
                                    .has_bytes = is_debug};
    name_section(to->name, s->name);
    if (is_code) {
        out->lo = out->lo == 0 && out->hi == 0 ? s->address : out->lo < s->address ? out->lo : s->address;
        out->hi = out->hi > s->address + s->bytes ? out->hi : s->address + s->bytes;
    }
}

static bool take_segment(struct reading *r, struct macho_bytes slice, uint64_t at, const struct command *c) {
    struct segment segment;
    if (c->bytes < sizeof segment || !read_at(slice, at, &segment, sizeof segment) ||
        segment.sections > (c->bytes - sizeof segment) / sizeof(struct section)) {
        return false;
    }
    bool is_debug = strncmp(segment.name, "__DWARF", sizeof segment.name) == 0;
    if (strncmp(segment.name, "__TEXT", sizeof segment.name) == 0) {
        r->text = segment.address;
    }
    for (uint32_t i = 0; i < segment.sections; i++) {
        struct section s;
        if (!read_at(slice, at + sizeof segment + i * sizeof s, &s, sizeof s) ||
            (is_debug && !is_inside(slice, s.offset, s.bytes))) {
            return false;
        }
        add_section(r->out, &s, is_debug);
    }
    return true;
}

static bool take_command(void *to, struct macho_bytes slice, uint64_t at, const struct command *c) {
    struct reading *r = to;
    switch (c->kind) {
    case COMMAND_SEGMENT:
        return take_segment(r, slice, at, c);
    case COMMAND_SYMBOLS:
        return c->bytes >= sizeof r->table && read_at(slice, at, &r->table, sizeof r->table);
    case COMMAND_STARTS:
        return c->bytes >= sizeof r->starts && read_at(slice, at, &r->starts, sizeof r->starts);
    default:
        return true;
    }
}

/* Ascending addresses at which a function begins, or a section ends. */
struct starts {
    uint64_t *at;
    size_t n, max;
};

static bool add_start(struct starts *s, uint64_t address) {
    if (s->n == s->max) {
        size_t max = s->max == 0 ? 1024 : 2 * s->max;
        uint64_t *more = realloc(s->at, max * sizeof *more);
        if (more == NULL) {
            return false;
        }
        s->at = more;
        s->max = max;
    }
    s->at[s->n++] = address;
    return true;
}

static int by_value(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* LC_FUNCTION_STARTS: distances as ULEB128, the first one from __TEXT. */
static bool read_starts(const struct reading *r, struct macho_bytes slice, struct starts *out) {
    uint64_t address = r->text, end = (uint64_t)r->starts.offset + r->starts.data_bytes;
    if (!is_inside(slice, r->starts.offset, r->starts.data_bytes)) {
        return true; /* names without it are a little less sure */
    }
    for (uint64_t i = r->starts.offset; i < end;) {
        uint64_t distance = 0;
        uint8_t byte = 0;
        unsigned shift = 0;
        do {
            byte = slice.at[i++];
            distance |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
            shift += 7;
        } while ((byte & 0x80) != 0 && i < end);
        if (distance == 0) {
            break;
        }
        address += distance;
        if (!add_start(out, address)) {
            return false;
        }
    }
    return true;
}

static bool is_code_at(const struct elf_head *out, uint64_t address) {
    for (unsigned i = 0; i < out->sections; i++) {
        const struct elf_head_section *s = &out->section[i];
        if (s->is_code && address >= s->address && address - s->address < s->bytes) {
            return true;
        }
    }
    return false;
}

/* Takes the functions. An underscore before each name is the compiler's. */
static bool read_symbols(const struct reading *r, struct macho_bytes slice, struct starts *starts) {
    struct elf_head *out = r->out;
    const struct symbol_table *t = &r->table;
    out->symbol = calloc(t->count + (size_t)1, sizeof *out->symbol);
    if (out->symbol == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < t->count; i++) {
        struct nlist n;
        memcpy(&n, slice.at + t->symbols + i * sizeof n, sizeof n);
        if ((n.type & STAB) != 0 || (n.type & TYPE) != IN_SECTION || n.name >= t->names_bytes ||
            !is_code_at(out, n.value)) {
            continue;
        }
        bool underscore = slice.at[t->names + n.name] == '_';
        out->symbol[out->symbols++] =
            (struct elf_head_symbol){.name = n.name + underscore, .is_function = true, .address = n.value};
        if (!add_start(starts, n.value)) {
            return false;
        }
    }
    return true;
}

/* A function ends where the next one begins, or its section ends. */
static void set_sizes(struct elf_head *out, const struct starts *starts) {
    for (size_t i = 0; i < out->symbols; i++) {
        struct elf_head_symbol *s = &out->symbol[i];
        size_t low = 0, high = starts->n;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (starts->at[middle] <= s->address) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        s->bytes = low < starts->n ? starts->at[low] - s->address : 0;
    }
}

static bool read_functions(const struct reading *r, struct macho_bytes slice) {
    struct starts starts = {0};
    bool done = read_starts(r, slice, &starts) && read_symbols(r, slice, &starts);
    for (unsigned i = 0; done && i < r->out->sections; i++) {
        const struct elf_head_section *s = &r->out->section[i];
        done = !s->is_code || add_start(&starts, s->address + s->bytes);
    }
    if (done && starts.n != 0) {
        qsort(starts.at, starts.n, sizeof *starts.at, by_value);
        set_sizes(r->out, &starts);
    }
    free(starts.at);
    return done;
}

const char *macho_slice_read(struct macho_bytes file, const struct macho_slice *slice, struct elf_head *out) {
    struct reading r = {.out = out};
    struct macho_bytes bytes = bytes_of(file, slice);
    *out = (struct elf_head){.machine = slice->cpu == CPU_ARM64 ? EM_AARCH64 : EM_X86_64,
                             .has_id = slice->has_id};
    memcpy(out->id, slice->id, sizeof out->id);
    if (!each_command(bytes, take_command, &r)) {
        return "its load commands are broken";
    }
    const struct symbol_table *t = &r.table;
    if (t->count > SYMBOLS_MAX_COUNT || !is_inside(bytes, t->symbols, t->count * sizeof(struct nlist)) ||
        !is_inside(bytes, t->names, t->names_bytes) ||
        (t->names_bytes != 0 && bytes.at[t->names + t->names_bytes - 1] != '\0')) {
        return "its table of symbols is broken";
    }
    for (unsigned i = 0; i < out->sections; i++) {
        out->section[i].offset += slice->offset;
    }
    out->names_offset = slice->offset + t->names;
    out->names_bytes = t->names_bytes;
    return read_functions(&r, bytes) ? NULL : "out of memory";
}

bool macho_slice_has_names(const struct elf_head *read) {
    bool found = read->symbols != 0;
    for (unsigned i = 0; i < read->sections; i++) {
        found |= strcmp(read->section[i].name, ".debug_info") == 0;
    }
    return found;
}
