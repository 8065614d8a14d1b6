/* SPDX-License-Identifier: MIT
 *
 * The layouts of messages are those of GLib 2.62 to 2.86, libdbus 1.2 to 1.16, systemd 221 to 257, and Qt 5
 * and 6. With another layout the search finds no message.
 */
#include "cause/linux/bus_name.h"

#include <string.h>

#include "image/read_string.h"

#define WORDS_MAX 512u /* of the stack, so that a search takes less than a millisecond */
#define REFERENCES_MAX 1000u

/* ---- what the specification of D-Bus allows ---------------------------------------------------------- */

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* True: `s` has only elements of letters and digits, with `between` between them. Returns their number. */
static unsigned count_elements(const char *s, char between, bool hyphens, bool digit_first) {
    unsigned count = 0;
    for (;; s++) {
        if (!is_letter(*s) && !(hyphens && *s == '-') && !(digit_first && is_digit(*s))) {
            return 0;
        }
        while (is_letter(*s) || is_digit(*s) || (hyphens && *s == '-')) {
            s++;
        }
        count++;
        if (*s != between) {
            return *s == '\0' ? count : 0;
        }
    }
}

static bool is_service(const char *s) {
    return s[0] == ':' ? count_elements(s + 1, '.', true, true) > 1 : count_elements(s, '.', true, false) > 1;
}

static bool is_object(const char *s) {
    return s[0] == '/' && (s[1] == '\0' || count_elements(s + 1, '/', false, true) > 0);
}

static bool is_interface(const char *s) {
    return count_elements(s, '.', false, false) > 1;
}

static bool is_member(const char *s) {
    return count_elements(s, '.', false, false) == 1;
}

/* ---- GLib: a GDBusMessage ------------------------------------------------------------------------------ */

enum field {
    FIELD_PATH = 1,
    FIELD_INTERFACE = 2,
    FIELD_MEMBER = 3,
    FIELD_DESTINATION = 6
};

/* A GVariant with a string. */
static bool read_variant(const struct hd_memory *memory, uint64_t at, char text[HD_BUS_NAME_BYTES]) {
    uint64_t v[4]; /* type, size, bytes, data */
    return hd_memory_read(memory, at, v, sizeof v) && v[1] <= HD_BUS_NAME_BYTES &&
           hd_image_read_string(memory, v[3], text, HD_BUS_NAME_BYTES) == 0 && strlen(text) + 1 == v[1];
}

/* Entry `i` of an array of a GHashTable, which has small numbers if all values of the table are small. */
static uint64_t entry_of(const struct hd_memory *memory, uint64_t array, uint64_t i, bool big) {
    uint64_t value = 0;
    size_t size = big ? 8 : 4;
    return hd_memory_read(memory, array + i * size, &value, size) ? value : 0;
}

static bool of_glib(const struct hd_memory *memory, uint64_t at, struct hd_bus_message *out) {
    struct {
        uint64_t class;
        uint32_t references, unused;
        uint64_t data;
        uint32_t type, flags, locked, order, version, serial;
        uint64_t headers;
    } m;
    struct {
        uint64_t size;
        uint32_t modulus, mask, nodes, occupied, big, unused;
        uint64_t keys, hashes, values;
    } t;
    char path[HD_BUS_NAME_BYTES];
    bool has_path = false, has_name = false;
    if (!hd_memory_read(memory, at, &m, sizeof m) || m.references - 1 >= REFERENCES_MAX || m.type != 1 ||
        m.flags > 7 || m.locked != 1 || (m.order != 'l' && m.order != 'B') || m.serial == 0 ||
        !hd_memory_read(memory, m.headers, &t, sizeof t) || t.size < 8 || t.size > 64 || t.nodes > t.size) {
        return false;
    }
    for (uint64_t i = 0; i < t.size; i++) {
        if (entry_of(memory, t.hashes, i, false) < 2) { /* the entry is free */
            continue;
        }
        uint64_t key = entry_of(memory, t.keys, i, (t.big & 1) != 0);
        uint64_t value = entry_of(memory, t.values, i, (t.big & 2) != 0);
        if (key == FIELD_PATH) {
            has_path = read_variant(memory, value, path) && is_object(path);
        } else if (key == FIELD_DESTINATION) {
            has_name = read_variant(memory, value, out->service) && is_service(out->service);
        } else if (key == FIELD_INTERFACE &&
                   !(read_variant(memory, value, out->interface) && is_interface(out->interface))) {
            return false;
        }
    }
    return has_path && has_name;
}

/* ---- libdbus: a DBusMessage, with the header as it is sent --------------------------------------------- */

struct wire {
    const uint8_t *bytes;
    size_t at, end;
};

static uint32_t take_number(struct wire *w) {
    uint32_t v = 0;
    w->at = (w->at + 3) & ~(size_t)3;
    if (w->end < 4 || w->at > w->end - 4) {
        w->at = w->end = 0;
        return 0;
    }
    memcpy(&v, w->bytes + w->at, 4);
    w->at += 4;
    return v;
}

/* Takes `n` bytes and their NUL. NULL: the header ends before. */
static const char *take_text(struct wire *w, size_t n) {
    const char *text = (const char *)w->bytes + w->at;
    if (n >= w->end - w->at || text[n] != '\0') {
        w->at = w->end = 0;
        return NULL;
    }
    w->at += n + 1;
    return text;
}

/* Reads the fields of a header: for each one a code, a signature of one character, and a value. */
static bool parse_fields(struct wire *w, struct hd_bus_message *out) {
    unsigned valid = 0;
    while (w->at + 8 < w->end) {
        w->at = (w->at + 7) & ~(size_t)7;
        uint8_t code = w->bytes[w->at++], length = w->bytes[w->at++];
        const char *type = length == 1 ? take_text(w, 1) : NULL;
        const char *text;
        if (type == NULL) {
            return false;
        }
        if (type[0] == 'g') {
            text = w->at < w->end ? take_text(w, w->bytes[w->at++]) : NULL;
        } else if (type[0] == 's' || type[0] == 'o') {
            text = take_text(w, take_number(w));
        } else {
            take_number(w);
            continue;
        }
        if (text == NULL) {
            return false;
        }
        if (code == FIELD_DESTINATION && strlen(text) < HD_BUS_NAME_BYTES && is_service(text)) {
            memcpy(out->service, text, strlen(text) + 1);
            valid |= 1;
        } else if (code == FIELD_INTERFACE && strlen(text) < HD_BUS_NAME_BYTES && is_interface(text)) {
            memcpy(out->interface, text, strlen(text) + 1);
        }
        valid |= code == FIELD_PATH && is_object(text)     ? 2u
                 : code == FIELD_MEMBER && is_member(text) ? 4u
                                                           : 0;
    }
    return valid == 7;
}

static bool of_libdbus(const struct hd_memory *memory, uint64_t at, struct hd_bus_message *out) {
    struct {
        uint32_t references, unused;
        uint64_t header;
        uint32_t bytes, capacity;
    } m;
    uint8_t header[512];
    if (!hd_memory_read(memory, at, &m, sizeof m) || m.references - 1 >= REFERENCES_MAX ||
        m.header % 8 != 0 || m.bytes < 16 || m.bytes > sizeof header || m.capacity < m.bytes ||
        !hd_memory_read(memory, m.header, header, m.bytes)) {
        return false;
    }
    struct wire w = {.bytes = header, .at = 12, .end = m.bytes};
    uint32_t fields = take_number(&w);
    if (header[0] != 'l' || header[1] != 1 || header[3] != 1 || fields > w.end - w.at) {
        return false;
    }
    w.end = w.at + fields;
    return parse_fields(&w, out);
}

/* ---- systemd: an sd_bus_message -------------------------------------------------------------------------
 */

static bool of_systemd(const struct hd_memory *memory, uint64_t at, struct hd_bus_message *out) {
    struct {
        uint32_t references, queued;
        uint64_t bus, cookie, path, interface, member, destination;
    } m;
    char text[HD_BUS_NAME_BYTES];
    return hd_memory_read(memory, at, &m, sizeof m) && m.references - 1 < REFERENCES_MAX && m.bus != 0 &&
           hd_image_read_string(memory, m.path, text, sizeof text) == 0 && is_object(text) &&
           hd_image_read_string(memory, m.member, text, sizeof text) == 0 && is_member(text) &&
           (m.interface == 0 ||
            (hd_image_read_string(memory, m.interface, out->interface, HD_BUS_NAME_BYTES) == 0 &&
             is_interface(out->interface))) &&
           hd_image_read_string(memory, m.destination, out->service, HD_BUS_NAME_BYTES) == 0 &&
           is_service(out->service);
}

/* ---- Qt: a QDBusMessagePrivate, with four strings one after the other ---------------------------------- */

static bool may_be_address(const struct hd_memory *memory, uint64_t at) {
    return at >= 4096 && at >> 47 == 0 && hd_memory_touched(memory, at);
}

/* Copies a QString of ASCII characters. In Qt 5 the string is at words[0]; a string of Qt 6 is at words[1],
 * and its size at words[2]. */
static bool read_qt(const struct hd_memory *memory, const uint64_t *words, bool qt6,
                    char text[HD_BUS_NAME_BYTES]) {
    uint32_t head[6]; /* in Qt 5: references, size, capacity, -, the distance to the characters */
    uint64_t from = words[1], size = words[2];
    uint16_t wide[HD_BUS_NAME_BYTES];
    if (!qt6) {
        if (!may_be_address(memory, words[0]) || !hd_memory_read(memory, words[0], head, sizeof head)) {
            return false;
        }
        from = words[0] + head[4];
        size = head[1];
    }
    if (size == 0 || size >= HD_BUS_NAME_BYTES || !may_be_address(memory, from) ||
        !hd_memory_read(memory, from, wide, size * sizeof wide[0])) {
        return false;
    }
    for (uint64_t i = 0; i < size; i++) {
        if (wide[i] < ' ' || wide[i] > '~') {
            return false;
        }
        text[i] = (char)wide[i];
    }
    text[size] = '\0';
    return true;
}

static bool of_qt(const struct hd_memory *memory, uint64_t at, struct hd_bus_message *out) {
    uint64_t words[16];
    char text[HD_BUS_NAME_BYTES];
    if (!hd_memory_read(memory, at, words, sizeof words)) {
        return false;
    }
    for (unsigned qt6 = 0; qt6 < 2; qt6++) {
        size_t step = qt6 ? 3 : 1; /* words of a string */
        for (size_t i = 0; i + 3 * step + 3 <= sizeof words / sizeof words[0]; i++) {
            if (read_qt(memory, words + i, qt6, out->service) && is_service(out->service) &&
                read_qt(memory, words + i + step, qt6, text) && is_object(text) &&
                (!read_qt(memory, words + i + 2 * step, qt6, out->interface) ||
                 is_interface(out->interface)) &&
                read_qt(memory, words + i + 3 * step, qt6, text) && is_member(text)) {
                return true;
            }
        }
    }
    return false;
}

/* ---- the search ------------------------------------------------------------------------------------------
 */

static bool is_message(const struct hd_memory *memory, uint64_t at, enum hd_bus_library library,
                       struct hd_bus_message *out) {
    if (at % 8 != 0 || !may_be_address(memory, at)) {
        return false;
    }
    switch (library) {
    case HD_BUS_GLIB:
        return of_glib(memory, at, out);
    case HD_BUS_QT:
        return of_qt(memory, at, out);
    case HD_BUS_LIBDBUS:
        return of_libdbus(memory, at, out);
    case HD_BUS_SYSTEMD:
        return of_systemd(memory, at, out);
    }
    return false;
}

bool hd_bus_name_find(const struct hd_memory *memory, const struct hd_capture *c, uint32_t bytes,
                      enum hd_bus_library library, struct hd_bus_message *out) {
    struct hd_bus_message other;
    uint64_t word, before = 0;
    bool found = false;
    uint32_t from = (uint32_t)(c->regs.sp - c->stack_addr), end = from + 8 * WORDS_MAX;
    end = end < bytes ? end : bytes;
    for (uint32_t i = from; i + sizeof word <= end; i += sizeof word) {
        memcpy(&word, c->stack + i, sizeof word);
        other = (struct hd_bus_message){0};
        if (word == before || !is_message(memory, word, library, &other)) {
            continue;
        }
        before = word;
        if (found &&
            (strcmp(out->service, other.service) != 0 || strcmp(out->interface, other.interface) != 0)) {
            return false;
        }
        found = true;
        *out = other;
    }
    return found;
}
