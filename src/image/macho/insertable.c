/* SPDX-License-Identifier: MIT
 *
 * The signature is a table of blobs, with numbers in big-endian order. Its code directory has the flags. Its
 * entitlements are a property list as text; a second copy in DER has the same.
 */
#include "image/macho/insertable.h"

#include <string.h>

#include "image/macho/commands.h"

#define LC_CODE_SIGNATURE 0x1du
#define ARM64E 2u
#define SUBTYPE_MASK 0x00ffffffu

#define SUPER_BLOB 0xfade0cc0u
#define CODE_DIRECTORY 0xfade0c02u
#define ENTITLEMENTS 0xfade7171u
#define BLOBS_MAX 32u
#define ENTITLEMENTS_MAX (256u << 10)
#define CODE_FLAGS_AT 12u

enum { /* flags of a code directory */
    SIGNED_RESTRICT = 0x800,
    SIGNED_REQUIRE_LV = 0x2000,
    SIGNED_RUNTIME = 0x10000,
};

static uint32_t big32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* ---- the slice -------------------------------------------------------------------------------- */

static bool is_arm64e(const struct hd_macho_slice *s) {
    return s->cpu == HD_MACHO_CPU_ARM64 && (s->cpu_subtype & SUBTYPE_MASK) == ARM64E;
}

static const struct hd_macho_slice *best_slice(const struct hd_macho_slices *s, uint32_t cpu) {
    for (uint32_t i = 0; cpu == HD_MACHO_CPU_ARM64 && i < s->count; i++) {
        if (is_arm64e(&s->slice[i])) {
            return &s->slice[i];
        }
    }
    const struct hd_macho_slice *own = hd_macho_slice_of(s, cpu);
    return own != NULL || cpu != HD_MACHO_CPU_ARM64 ? own : hd_macho_slice_of(s, HD_MACHO_CPU_X86_64);
}

struct part {
    const struct hd_memory *file;
    struct hd_macho_slice slice;
};

static int read_part(void *ctx, uint64_t at, void *dst, size_t n) {
    const struct part *p = ctx;
    if (at > p->slice.bytes || n > p->slice.bytes - at) {
        return -1;
    }
    return p->file->read(p->file->ctx, p->slice.offset + at, dst, n);
}

/* ---- entitlements ----------------------------------------------------------------------------- */

#define WINDOW 1024u
#define OVERLAP 256u /* longer than a key with its value */

/* True: the text has the key, and the value behind it is true. */
static bool has_true_key(const char *text, size_t n, const char *key) {
    size_t length = strlen(key);
    for (size_t i = 0; i + length <= n; i++) {
        if (memcmp(text + i, key, length) != 0) {
            continue;
        }
        size_t at = i + length;
        while (at < n && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r')) {
            at++;
        }
        return n - at >= 6 && memcmp(text + at, "<true/", 6) == 0;
    }
    return false;
}

static void read_entitlements(const struct hd_memory *memory, uint64_t at, uint64_t bytes,
                              struct hd_insert_facts *facts) {
    char window[WINDOW];
    bytes = bytes < ENTITLEMENTS_MAX ? bytes : ENTITLEMENTS_MAX;
    for (uint64_t done = 0; done < bytes; done += WINDOW - OVERLAP) {
        size_t n = bytes - done < WINDOW ? (size_t)(bytes - done) : WINDOW;
        if (!hd_memory_read(memory, at + done, window, n)) {
            return;
        }
        facts->allows_variables |=
            has_true_key(window, n, "<key>com.apple.security.cs.allow-dyld-environment-variables</key>");
        facts->allows_libraries |=
            has_true_key(window, n, "<key>com.apple.security.cs.disable-library-validation</key>");
    }
}

/* ---- the signature ---------------------------------------------------------------------------- */

static void read_blob(const struct hd_memory *memory, uint64_t at, uint64_t left,
                      struct hd_insert_facts *facts) {
    uint8_t head[CODE_FLAGS_AT + 4];
    if (left < sizeof head || !hd_memory_read(memory, at, head, sizeof head)) {
        return;
    }
    uint32_t bytes = big32(head + 4);
    if (big32(head) == CODE_DIRECTORY) {
        uint32_t flags = big32(head + CODE_FLAGS_AT);
        facts->is_signed = true;
        facts->restricted |= (flags & SIGNED_RESTRICT) != 0;
        facts->validates |= (flags & SIGNED_REQUIRE_LV) != 0;
        facts->hardened |= (flags & SIGNED_RUNTIME) != 0;
    } else if (big32(head) == ENTITLEMENTS && bytes > 8 && bytes <= left) {
        read_entitlements(memory, at + 8, bytes - 8, facts);
    }
}

static void read_signature(const struct hd_memory *memory, const struct hd_macho_linkedit_data *where,
                           struct hd_insert_facts *facts) {
    uint8_t head[12], entry[8];
    if (where->data_bytes < sizeof head || !hd_memory_read(memory, where->offset, head, sizeof head) ||
        big32(head) != SUPER_BLOB) {
        return;
    }
    uint32_t count = big32(head + 8);
    for (uint32_t i = 0; i < count && i < BLOBS_MAX; i++) {
        uint64_t at = (uint64_t)where->offset + sizeof head + 8u * i;
        if (!hd_memory_read(memory, at, entry, sizeof entry)) {
            return;
        }
        uint32_t offset = big32(entry + 4);
        if (offset < where->data_bytes) {
            read_blob(memory, (uint64_t)where->offset + offset, where->data_bytes - offset, facts);
        }
    }
}

/* ---- the load commands ------------------------------------------------------------------------ */

static bool is_restrict(struct hd_macho_commands *c) {
    struct hd_macho_segment s;
    struct hd_macho_section section;
    if (!hd_macho_command_read(c, &s, sizeof s) || strncmp(s.name, "__RESTRICT", sizeof s.name) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < s.sections && (i + 1) * sizeof section + sizeof s <= c->head.bytes; i++) {
        if (hd_memory_read(c->memory, c->at + sizeof s + i * sizeof section, &section, sizeof section) &&
            strncmp(section.name, "__restrict", sizeof section.name) == 0) {
            return true;
        }
    }
    return false;
}

static bool read_commands(struct part *part, struct hd_insert_facts *facts) {
    struct hd_memory memory = {.read = read_part, .ctx = part};
    struct hd_macho_commands c;
    struct hd_macho_linkedit_data where;
    bool good = hd_macho_first_command(&c, &memory, 0), found = false;
    while (good && hd_macho_next_command(&c)) {
        if (c.head.command == HD_LC_SEGMENT_64) {
            facts->restricted |= is_restrict(&c);
        } else if (c.head.command == LC_CODE_SIGNATURE && !found &&
                   hd_macho_command_read(&c, &where, sizeof where)) {
            found = true; /* a second one would only cost time */
            read_signature(&memory, &where, facts);
        }
    }
    facts->fault = c.fault;
    return c.fault == HD_MACHO_FINE;
}

enum hd_insertable hd_macho_insertable(const struct hd_memory *file, uint64_t bytes, uint32_t cpu,
                                       struct hd_insert_facts *facts) {
    struct hd_macho_slices slices;
    *facts = (struct hd_insert_facts){.fault = HD_MACHO_FINE};
    if (hd_macho_slices_read(file, bytes, &slices) != 0) {
        facts->fault = slices.fault;
        return HD_INSERT_NO_PROGRAM;
    }
    const struct hd_macho_slice *slice = best_slice(&slices, cpu);
    if (slice == NULL) {
        return HD_INSERT_OTHER_CPU;
    }
    facts->slice = *slice;
    if (is_arm64e(slice)) {
        return HD_INSERT_ARM64E;
    }
    struct part part = {.file = file, .slice = *slice};
    if (!read_commands(&part, facts)) {
        return HD_INSERT_NO_PROGRAM;
    }
    if (facts->restricted) {
        return HD_INSERT_RESTRICTED;
    }
    if (facts->hardened && !facts->allows_variables) {
        return HD_INSERT_HARDENED;
    }
    return (facts->hardened || facts->validates) && !facts->allows_libraries ? HD_INSERT_VALIDATED
                                                                             : HD_INSERT_FINE;
}
