/* SPDX-License-Identifier: MIT */
#include "symbolizer/macho_slice.h"

#include "image/macho/commands.h"
#include "image/macho/function_starts.h"
#include "image/macho/slices.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CODE = (int)0x80000400, /* S_ATTR_PURE_INSTRUCTIONS, S_ATTR_SOME_INSTRUCTIONS */
    SYMBOLS_MAX_COUNT = 16 << 20,
};

static bool is_inside(const struct macho_bytes *in, uint64_t offset, uint64_t n) {
    return offset <= in->n && n <= in->n - offset;
}

/* Memory whose addresses are offsets in a file. */
static int read_bytes(void *from, uint64_t offset, void *to, size_t n) {
    const struct macho_bytes *in = from;
    if (!is_inside(in, offset, n)) {
        return -EFAULT;
    }
    memcpy(to, in->at + offset, n);
    return 0;
}

static struct hd_memory memory_of(struct macho_bytes *file) {
    return (struct hd_memory){.read = read_bytes, .ctx = file};
}

static struct macho_bytes bytes_of(struct macho_bytes file, const struct macho_slice *slice) {
    return (struct macho_bytes){file.at + slice->offset, slice->bytes};
}

/* ---- slices ----------------------------------------------------------------------------------- */

static bool add_slice(struct macho_bytes file, uint64_t offset, uint64_t bytes, struct macho_slice *out) {
    struct hd_macho_commands c;
    *out = (struct macho_slice){.offset = offset, .bytes = bytes};
    if (!is_inside(&file, offset, bytes)) {
        return false;
    }
    struct macho_bytes inside = bytes_of(file, out);
    struct hd_memory memory = memory_of(&inside);
    if (!hd_macho_first_command(&c, &memory, 0)) {
        return false;
    }
    out->cpu = c.header.cpu;
    while (hd_macho_next_command(&c)) {
        struct {
            struct hd_macho_command_head head;
            uint8_t id[sizeof out->id];
        } uuid;
        if (c.head.command == HD_LC_UUID && hd_macho_command_read(&c, &uuid, sizeof uuid)) {
            memcpy(out->id, uuid.id, sizeof out->id);
            out->has_id = true;
        }
    }
    return c.fault == HD_MACHO_FINE && (out->cpu == HD_MACHO_CPU_X86_64 || out->cpu == HD_MACHO_CPU_ARM64);
}

unsigned macho_slices(struct macho_bytes file, struct macho_slice out[MACHO_SLICES_MAX]) {
    struct hd_memory memory = memory_of(&file);
    struct hd_macho_slices found;
    unsigned n = 0;
    if (hd_macho_slices_read(&memory, file.n, &found) != 0) {
        return 0;
    }
    for (uint32_t i = 0; i < found.count; i++) {
        n += add_slice(file, found.slice[i].offset, found.slice[i].bytes, &out[n]);
    }
    return n;
}

/* ---- one slice -------------------------------------------------------------------------------- */

struct reading {
    struct elf_head *out;
    struct hd_macho_symtab table;
    struct hd_macho_tables starts; /* as far as hd_function_starts_init needs them */
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
        snprintf(to, ELF_HEAD_NAME_BYTES, ".debug_str_offsets");
    }
}

static void add_section(struct elf_head *out, const struct hd_macho_section *s, bool is_debug) {
    bool is_code = !is_debug && (s->flags & (uint32_t)CODE) != 0;
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

static bool take_segment(struct reading *r, struct macho_bytes *slice, struct hd_macho_commands *c) {
    struct hd_macho_segment segment;
    if (!hd_macho_command_read(c, &segment, sizeof segment) ||
        segment.sections > (c->head.bytes - sizeof segment) / sizeof(struct hd_macho_section)) {
        return false;
    }
    bool is_debug = strncmp(segment.name, "__DWARF", sizeof segment.name) == 0;
    if (strncmp(segment.name, "__TEXT", sizeof segment.name) == 0) {
        r->starts.text = segment.address;
        r->starts.text_bytes = segment.memory_bytes;
    }
    for (uint32_t i = 0; i < segment.sections; i++) {
        struct hd_macho_section s;
        if (!hd_memory_read(c->memory, c->at + sizeof segment + i * sizeof s, &s, sizeof s) ||
            (is_debug && !is_inside(slice, s.offset, s.bytes))) {
            return false;
        }
        add_section(r->out, &s, is_debug);
    }
    return true;
}

static bool take_command(struct reading *r, struct macho_bytes *slice, struct hd_macho_commands *c) {
    struct hd_macho_linkedit_data starts;
    switch (c->head.command) {
    case HD_LC_SEGMENT_64:
        return take_segment(r, slice, c);
    case HD_LC_SYMTAB:
        return hd_macho_command_read(c, &r->table, sizeof r->table);
    case HD_LC_FUNCTION_STARTS:
        if (!hd_macho_command_read(c, &starts, sizeof starts)) {
            return false;
        }
        r->starts.function_starts = starts.offset;
        r->starts.function_starts_bytes = starts.data_bytes;
        return true;
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

static bool read_starts(const struct reading *r, const struct hd_memory *memory, struct starts *out) {
    struct hd_function_starts at;
    hd_function_starts_init(&at, &r->starts);
    while (hd_function_starts_next(&at, memory)) {
        if (!add_start(out, at.start)) {
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
static bool read_symbols(const struct reading *r, const struct macho_bytes *slice, struct starts *starts) {
    struct elf_head *out = r->out;
    const struct hd_macho_symtab *t = &r->table;
    out->symbol = calloc(t->symbols + (size_t)1, sizeof *out->symbol);
    if (out->symbol == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < t->symbols; i++) {
        struct hd_macho_symbol n;
        memcpy(&n, slice->at + t->symbols_offset + i * sizeof n, sizeof n);
        if ((n.type & HD_MACHO_SYMBOL_DEBUG) != 0 ||
            (n.type & HD_MACHO_SYMBOL_KIND) != HD_MACHO_SYMBOL_IN_SECTION || n.name >= t->strings_bytes ||
            !is_code_at(out, n.value)) {
            continue;
        }
        bool underscore = slice->at[t->strings_offset + n.name] == '_';
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

static bool read_functions(const struct reading *r, struct macho_bytes *slice) {
    struct hd_memory memory = memory_of(slice);
    struct starts starts = {0};
    bool done = read_starts(r, &memory, &starts) && read_symbols(r, slice, &starts);
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

/* True: the tables of symbols and of their names are in the slice, and the last name ends. */
static bool is_table_whole(const struct hd_macho_symtab *t, const struct macho_bytes *slice) {
    return t->symbols <= SYMBOLS_MAX_COUNT &&
           is_inside(slice, t->symbols_offset, t->symbols * sizeof(struct hd_macho_symbol)) &&
           is_inside(slice, t->strings_offset, t->strings_bytes) &&
           (t->strings_bytes == 0 || slice->at[t->strings_offset + t->strings_bytes - 1] == '\0');
}

const char *macho_slice_read(struct macho_bytes file, const struct macho_slice *slice, struct elf_head *out) {
    struct reading r = {.out = out};
    struct macho_bytes bytes = bytes_of(file, slice);
    struct hd_memory memory = memory_of(&bytes);
    struct hd_macho_commands c;
    *out = (struct elf_head){.machine = slice->cpu == HD_MACHO_CPU_ARM64 ? EM_AARCH64 : EM_X86_64,
                             .has_id = slice->has_id};
    memcpy(out->id, slice->id, sizeof out->id);
    hd_macho_first_command(&c, &memory, 0);
    while (hd_macho_next_command(&c)) {
        if (!take_command(&r, &bytes, &c)) {
            return "a load command is broken";
        }
    }
    if (c.fault != HD_MACHO_FINE) {
        return hd_macho_fault_text(c.fault);
    }
    if (!is_table_whole(&r.table, &bytes)) {
        return "its table of symbols is broken";
    }
    for (unsigned i = 0; i < out->sections; i++) {
        out->section[i].offset += slice->offset;
    }
    out->names_offset = slice->offset + r.table.strings_offset;
    out->names_bytes = r.table.strings_bytes;
    return read_functions(&r, &bytes) ? NULL : "out of memory";
}

bool macho_slice_has_names(const struct elf_head *read) {
    bool found = read->symbols != 0;
    for (unsigned i = 0; i < read->sections; i++) {
        found |= strcmp(read->section[i].name, ".debug_info") == 0;
    }
    return found;
}
