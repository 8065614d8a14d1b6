/* SPDX-License-Identifier: MIT */
#include "collector/report/fast_parse.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "collector/report/fast_text.h"
#include "collector/report/schema.h"
#include "collector/report/schema_rule.h"
#include "collector/report/schema_text.h"

#define OTHER_NAME_BYTES 256
#define DIGITS_MAX 18
#define REAL_DIGITS_MAX \
    15 /* a double has them exactly, and ten to their power: so the quotient is rounded once */

/* Values are made where `make` is set, else only checked. Each function is false for what it does not know.
 */
struct parse {
    const char *at, *end;
    int depth;
    size_t values;
    bool make;
    const char *threads;        /* where the value of that member begins, which was not made */
    char text[SCHEMA_TEXT_MAX]; /* the last one with escapes, or beyond ASCII */
};

static bool parse_value(struct parse *p, const struct schema_rule *rule, json_t **out);

static inline void skip_blanks(struct parse *p) {
    /* Most texts have none. */
    while (p->at < p->end && (unsigned char)*p->at <= ' ' &&
           (*p->at == ' ' || *p->at == '\n' || *p->at == '\r' || *p->at == '\t')) {
        p->at++;
    }
}

static inline bool take(struct parse *p, char c) {
    skip_blanks(p);
    bool is = p->at < p->end && *p->at == c;
    p->at += is;
    return is;
}

/* ASCII that stands for itself in a text: from a blank on, but for the quote and the backslash. */
static inline bool is_plain(unsigned char c) {
    return c - 0x20U < 0x60U && c != '"' && c != '\\';
}

static bool scan_text(struct parse *p, const char **text, size_t *bytes) {
    if (!take(p, '"')) {
        return false;
    }
    const char *at = p->at;
    while (at < p->end && is_plain((unsigned char)*at)) {
        at++;
    }
    if (at == p->end || *at != '"') {
        *text = p->text;
        return fast_text_decode(&p->at, p->end, p->text, sizeof p->text, bytes);
    }
    *text = p->at;
    *bytes = (size_t)(at - p->at);
    p->at = at + 1;
    return true;
}

static bool is_one_of(const json_t *words, const char *text, size_t bytes) {
    const json_t *word;
    size_t i;
    json_array_foreach(words, i, word) {
        if (json_is_string(word) && json_string_length(word) == bytes &&
            memcmp(json_string_value(word), text, bytes) == 0) {
            return true;
        }
    }
    return false;
}

static bool parse_text(struct parse *p, const struct schema_rule *rule, json_t **out) {
    const char *text;
    size_t bytes;
    if ((rule->types & 1U << JSON_STRING) == 0 || !scan_text(p, &text, &bytes) ||
        !schema_rule_allows_text(rule, text, bytes) ||
        (rule->words != NULL && !is_one_of(rule->words, text, bytes)) ||
        (rule->only != NULL && (!json_is_string(rule->only) || json_string_length(rule->only) != bytes ||
                                memcmp(json_string_value(rule->only), text, bytes) != 0)) ||
        (rule->is_address && !schema_text_is_address(text, bytes)) ||
        (rule->is_moment && !schema_text_is_moment(text, bytes))) {
        return false;
    }
    *out = p->make ? json_stringn_nocheck(text, bytes) : NULL;
    return !p->make || *out != NULL;
}

/* Adds up to DIGITS_MAX + 1 digits to `number`; how many. Unsigned, so that too many do not overflow. */
static int scan_digits(struct parse *p, uint64_t *number) {
    int digits = 0;
    while (p->at < p->end && *p->at >= '0' && *p->at <= '9' && digits <= DIGITS_MAX) {
        *number = *number * 10 + (uint64_t)(*p->at++ - '0');
        digits++;
    }
    return digits;
}

static bool parse_number(struct parse *p, const struct schema_rule *rule, json_t **out) {
    static const double power[REAL_DIGITS_MAX + 1] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                      1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    uint64_t scanned = 0;
    int decimals = 0;
    bool negative = *p->at == '-';
    p->at += negative;
    bool leading_zero = p->at < p->end && *p->at == '0';
    int digits = scan_digits(p, &scanned);
    bool real = p->at < p->end && *p->at == '.';
    if (real) {
        p->at++;
        decimals = scan_digits(p, &scanned);
    }
    if (digits == 0 || (leading_zero && digits > 1) || (real && decimals == 0) ||
        digits + decimals > (real ? REAL_DIGITS_MAX : DIGITS_MAX) ||
        (p->at < p->end && (*p->at == 'e' || *p->at == 'E' || *p->at == '.')) || (negative && scanned == 0)) {
        return false;
    }
    json_int_t number = negative ? -(json_int_t)scanned : (json_int_t)scanned;
    double value = (double)number / power[decimals];
    if ((rule->types & 1U << (real ? JSON_REAL : JSON_INTEGER)) == 0 || value < rule->min ||
        value > rule->max) {
        return false;
    }
    *out = !p->make ? NULL : real ? json_real(value) : json_integer(number);
    return !p->make || *out != NULL;
}

static bool parse_word(struct parse *p, const struct schema_rule *rule, json_t **out) {
    bool yes = *p->at == 't';
    const char *word = yes ? "true" : "false";
    size_t bytes = strlen(word);
    if ((size_t)(p->end - p->at) < bytes || memcmp(p->at, word, bytes) != 0 ||
        (rule->types & 1U << (yes ? JSON_TRUE : JSON_FALSE)) == 0) {
        return false;
    }
    p->at += bytes;
    *out = p->make ? json_boolean(yes) : NULL;
    return true;
}

static bool is_at(const struct parse *p, int depth, const struct schema_property *property,
                  const char *name) {
    return p->make && p->depth == depth && property->name_bytes == strlen(name) &&
           memcmp(property->name, name, property->name_bytes) == 0;
}

/* The lists of threads and of the timeline's stacks are most of a report's text. Few causes refer to a
 * thread, and nothing here to a stack. */
static bool check_only(struct parse *p, const struct schema_rule *rule) {
    json_t *none;
    p->make = false;
    bool fits = parse_value(p, rule, &none);
    p->make = true;
    return fits;
}

/* A member whose name the schema leaves open. */
static bool parse_other(struct parse *p, const struct schema_rule *rule, json_t *object, const char *name,
                        size_t bytes) {
    char key[OTHER_NAME_BYTES];
    json_t *value = NULL;
    if (rule == NULL || !p->make || bytes > sizeof key || json_object_getn(object, name, bytes) != NULL) {
        return false;
    }
    memcpy(key, name, bytes);
    return parse_value(p, rule, &value) && json_object_setn_new_nocheck(object, key, bytes, value) == 0;
}

static bool parse_member(struct parse *p, const struct schema_rule *rule, json_t *object, size_t *next,
                         uint64_t *seen) {
    const char *name;
    size_t bytes;
    json_t *value = NULL;
    if (!scan_text(p, &name, &bytes) || !take(p, ':')) {
        return false;
    }
    size_t at = schema_rule_property(rule, name, bytes, *next);
    if (at == SIZE_MAX) {
        return parse_other(p, rule->others, object, name, bytes);
    }
    if ((*seen & UINT64_C(1) << at) != 0 || rule->property[at].rule == NULL) {
        return false;
    }
    *next = at + 1;
    *seen |= UINT64_C(1) << at;
    const struct schema_property *property = &rule->property[at];
    if (is_at(p, 1, property, "threads")) {
        p->threads = p->at;
        return check_only(p, property->rule);
    }
    if (is_at(p, 2, property, "stacks")) {
        return check_only(p, property->rule);
    }
    return parse_value(p, property->rule, &value) &&
           (object == NULL || json_object_setn_new_nocheck(object, property->name, bytes, value) == 0);
}

static bool parse_members(struct parse *p, const struct schema_rule *rule, json_t *object) {
    uint64_t seen = 0;
    size_t next = 0;
    if (!take(p, '}')) {
        do {
            p->values++;
            if (!parse_member(p, rule, object, &next, &seen)) {
                return false;
            }
        } while (take(p, ','));
        if (!take(p, '}')) {
            return false;
        }
    }
    return (seen & rule->required_seen) == rule->required_seen;
}

static bool parse_object(struct parse *p, const struct schema_rule *rule, json_t **out) {
    *out = p->make ? json_object() : NULL;
    p->at++;
    if ((rule->types & 1U << JSON_OBJECT) != 0 && (!p->make || *out != NULL) &&
        parse_members(p, rule, *out)) {
        return true;
    }
    json_decref(*out);
    return false;
}

static bool parse_items(struct parse *p, const struct schema_rule *rule, size_t most, json_t *array) {
    size_t count = 0;
    if (take(p, ']')) {
        return true;
    }
    do {
        json_t *value = NULL;
        p->values++;
        if (count++ == most || !parse_value(p, rule, &value) ||
            (array != NULL && json_array_append_new(array, value) != 0)) {
            return false;
        }
    } while (take(p, ','));
    return take(p, ']');
}

static bool parse_array(struct parse *p, const struct schema_rule *rule, json_t **out) {
    *out = p->make ? json_array() : NULL;
    p->at++;
    if ((rule->types & 1U << JSON_ARRAY) != 0 && rule->items != NULL && (!p->make || *out != NULL) &&
        parse_items(p, rule->items, rule->items_max, *out)) {
        return true;
    }
    json_decref(*out);
    return false;
}

static bool parse_value(struct parse *p, const struct schema_rule *rule, json_t **out) {
    rule = rule->refers != NULL ? rule->refers : rule;
    skip_blanks(p);
    if (p->at == p->end || !rule->is_fast || p->depth == SCHEMA_DEPTH_MAX - 1 ||
        p->values > SCHEMA_VALUES_MAX / 2) { /* the slow way counts a member twice */
        return false;
    }
    if (*p->at != '"' && (rule->words != NULL || rule->only != NULL)) {
        return false;
    }
    bool fits = false;
    p->depth++;
    switch (*p->at) {
    case '{':
        fits = parse_object(p, rule, out);
        break;
    case '[':
        fits = parse_array(p, rule, out);
        break;
    case '"':
        fits = parse_text(p, rule, out);
        break;
    case 't':
    case 'f':
        fits = parse_word(p, rule, out);
        break;
    default:
        fits = parse_number(p, rule, out);
    }
    p->depth--;
    return fits;
}

/* All but the text, which is large. */
static void start(struct parse *p, const char *text, const char *end) {
    p->at = text;
    p->end = end;
    p->depth = 0;
    p->values = 0;
    p->make = true;
    p->threads = NULL;
}

/* The threads, where the cause refers to one. */
static bool add_threads(const struct parse *checked, const struct schema_rule *rule, json_t *report) {
    const json_t *cause = json_object_get(report, "cause");
    if (checked->threads == NULL ||
        (json_object_get(cause, "deadlock") == NULL && json_object_get(cause, "lock_owner_tid") == NULL)) {
        return true;
    }
    struct parse p;
    start(&p, checked->threads, checked->end);
    p.depth = 1;
    size_t at = schema_rule_property(rule, "threads", strlen("threads"), 0);
    json_t *threads = NULL;
    return parse_value(&p, rule->property[at].rule, &threads) &&
           json_object_set_new_nocheck(report, "threads", threads) == 0;
}

json_t *fast_parse(const struct schema_rule *rule, const char *text, size_t bytes) {
    struct parse p;
    start(&p, text, text + bytes);
    json_t *report = NULL;
    if (!parse_value(&p, rule, &report)) {
        return NULL;
    }
    skip_blanks(&p);
    if (p.at == p.end && json_is_object(report) && add_threads(&p, rule, report)) {
        return report;
    }
    json_decref(report);
    return NULL;
}
