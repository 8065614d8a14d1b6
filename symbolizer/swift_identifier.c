/* SPDX-License-Identifier: MIT
 *
 * Identifiers. Ordinary code.
 */
#include "symbolizer/swift_identifier.h"

#include "symbolizer/swift_punycode.h"

#include <string.h>

static bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}

static void add_text(struct swift *s, const char *bytes, size_t n) {
    if (s->bad || n > (size_t)(SWIFT_TEXT_MAX - s->text_used)) {
        swift_fail(s);
        return;
    }
    memcpy(s->text + s->text_used, bytes, n);
    s->text_used = (uint16_t)(s->text_used + n);
}

static void add_word(struct swift *s, size_t from, size_t to) {
    if (to - from >= 2 && s->words_used < SWIFT_WORDS_MAX) {
        s->words[s->words_used].text = (uint16_t)from;
        s->words[s->words_used++].bytes = (uint16_t)(to - from);
    }
}

/* Words have two characters or more, begin with no digit, and end before an underscore, or before an
 * upper-case letter behind another character. */
static void find_words(struct swift *s, size_t from, size_t to) {
    size_t begin = SIZE_MAX;
    for (size_t i = from; i <= to; i++) {
        char c = i < to ? s->text[i] : 0;
        bool ends = c == 0 || c == '_' || (i > from && !is_upper(s->text[i - 1]) && is_upper(c));
        if (begin != SIZE_MAX && ends) {
            add_word(s, begin, i);
            begin = SIZE_MAX;
        }
        if (begin == SIZE_MAX && c != 0 && c != '_' && !swift_is_digit(c)) {
            begin = i;
        }
    }
}

/* Letters are words; an upper-case one is the last word. True: more words may follow the text that comes
 * next. */
static bool read_words(struct swift *s) {
    for (;;) {
        char c = swift_peek(s);
        if (!is_lower(c) && !is_upper(c)) {
            return true;
        }
        swift_next(s);
        unsigned word = (unsigned)(c - (is_lower(c) ? 'a' : 'A'));
        if (word >= s->words_used) {
            swift_fail(s);
            return false;
        }
        add_text(s, s->text + s->words[word].text, s->words[word].bytes);
        if (is_upper(c)) {
            return false;
        }
    }
}

/* The next n characters, which are of ASCII. */
static const char *take(struct swift *s, uint32_t n) {
    const char *bytes = s->at;
    if (s->bad || n == 0 || n > (size_t)(s->end - s->at)) {
        swift_fail(s);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (bytes[i] <= ' ' || bytes[i] > '~') {
            swift_fail(s);
        }
    }
    s->at += n;
    return bytes;
}

static void read_punycode(struct swift *s) {
    uint32_t n = swift_natural(s);
    swift_next_if(s, '_');
    const char *bytes = take(s, n);
    size_t room = (size_t)(SWIFT_TEXT_MAX - s->text_used);
    size_t used = bytes != NULL ? swift_punycode(bytes, n, s->text + s->text_used, room) : 0;
    s->text_used = (uint16_t)(s->text_used + used);
    if (used == 0) {
        swift_fail(s);
    }
}

static void read_parts(struct swift *s, bool words) {
    do {
        words = words && read_words(s);
        if (swift_next_if(s, '0')) { /* the text ends with a word */
            return;
        }
        uint32_t n = swift_natural(s);
        const char *bytes = take(s, n);
        if (bytes == NULL) {
            return;
        }
        size_t from = s->text_used;
        add_text(s, bytes, n);
        find_words(s, from, s->text_used);
    } while (words && !s->bad);
}

void swift_read_identifier(struct swift *s) {
    uint16_t from = s->text_used;
    if (swift_next_if(s, '0')) {
        if (swift_next_if(s, '0')) {
            read_punycode(s);
        } else {
            read_parts(s, true);
        }
    } else {
        read_parts(s, false);
    }
    uint16_t node = swift_make(s, SWIFT_IDENTIFIER, 0, 0);
    if (node == 0 || s->text_used == from) {
        swift_fail(s);
        return;
    }
    s->nodes[node].text = from;
    s->nodes[node].bytes = (uint16_t)(s->text_used - from);
    swift_remember(s, node);
    swift_push(s, node);
}

void swift_read_operator(struct swift *s) {
    static const char characters[] = "& @/= >    <*!|+?%-~   ^ .";
    char fixity = swift_next(s);
    uint16_t name = swift_pop(s, SWIFT_IDENTIFIER);
    uint16_t node = swift_make(s, SWIFT_IDENTIFIER, 0, 0);
    if (name == 0 || node == 0 || (fixity != 'i' && fixity != 'p' && fixity != 'P')) {
        swift_fail(s);
        return;
    }
    uint16_t from = s->text_used;
    add_text(s, s->text + s->nodes[name].text, s->nodes[name].bytes);
    for (uint16_t i = from; i < s->text_used; i++) {
        if (is_lower(s->text[i])) {
            s->text[i] = characters[s->text[i] - 'a'];
        } else if ((unsigned char)s->text[i] < 0x80) {
            s->text[i] = ' ';
        }
        if (s->text[i] == ' ') {
            swift_fail(s);
        }
    }
    s->nodes[node].text = from;
    s->nodes[node].bytes = s->nodes[name].bytes;
    s->nodes[node].form = (uint8_t)fixity;
    swift_push(s, node);
}

void swift_read_local(struct swift *s) {
    uint16_t node;
    uint32_t number = 0;
    enum swift_kind kind = SWIFT_PRIVATE;
    char c = swift_peek(s);
    if (c == 'L' || c == 'l') {
        swift_next(s);
        if (swift_pop(s, SWIFT_IDENTIFIER) == 0) {
            swift_fail(s);
        }
    } else if ((c >= 'a' && c <= 'j') || (c >= 'A' && c <= 'J')) {
        number = (unsigned char)swift_next(s);
        kind = SWIFT_RELATED;
    } else {
        number = swift_index(s);
        kind = SWIFT_LOCAL;
    }
    uint16_t name = c == 'l' ? 0 : swift_pop_declared(s);
    node = swift_make(s, kind, name, 0);
    if (node == 0 || (name == 0 && c != 'l')) {
        swift_fail(s);
        return;
    }
    s->nodes[node].number = number;
    swift_push(s, node);
}
