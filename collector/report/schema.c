/* SPDX-License-Identifier: MIT */
#include "collector/report/schema.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "collector/report/schema_rule.h"
#include "collector/report/schema_text.h"

/* Where the check is: a step down for each member and item. The text is made once there is a fault. */
struct step {
    const struct step *up;
    const char *name; /* NULL: the item at `index` */
    size_t index;
};

struct check {
    struct schema_fault *fault;
    int depth;
};

static bool check_value(struct check *c, const struct step *at, const struct schema_rule *rule,
                        const json_t *value);

static size_t write_place(char *to, size_t size, const struct step *at) {
    if (at == NULL) {
        to[0] = '\0';
        return 0;
    }
    size_t used = write_place(to, size, at->up);
    int n = at->name != NULL ? snprintf(to + used, size - used, "/%.60s", at->name)
                             : snprintf(to + used, size - used, "/%zu", at->index);
    return used + (size_t)n < size ? used + (size_t)n : size - 1;
}

static bool __attribute__((format(printf, 3, 4)))
wrong(const struct check *c, const struct step *at, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(c->fault->reason, sizeof c->fault->reason, format, args);
    va_end(args);
    write_place(c->fault->at, sizeof c->fault->at, at);
    return false;
}

bool schema_is_too_much(const char *text, size_t bytes, struct schema_fault *fault) {
    size_t depth = 0, values = 0;
    bool quoted = false;
    fault->at[0] = '\0';
    if (bytes > SCHEMA_SLOW_BYTES_MAX) {
        snprintf(fault->reason, sizeof fault->reason,
                 "has more than %zu bytes, and is no report in the form that Hangdog writes",
                 SCHEMA_SLOW_BYTES_MAX);
        return true;
    }
    for (size_t i = 0; i < bytes; i++) {
        char c = text[i];
        if (quoted) {
            i += c == '\\';
            quoted = c != '"';
            continue;
        }
        quoted = c == '"';
        values += c == ',' || c == ':';
        depth += c == '[' || c == '{';
        depth -= (c == ']' || c == '}') && depth > 0;
        if (depth > SCHEMA_DEPTH_MAX) {
            snprintf(fault->reason, sizeof fault->reason, "nests deeper than %d levels", SCHEMA_DEPTH_MAX);
            return true;
        }
        if (values > 2 * SCHEMA_SLOW_VALUES_MAX) { /* a member has a comma and a colon */
            snprintf(fault->reason, sizeof fault->reason,
                     "has more than %d values, and is no report in the form that Hangdog writes",
                     SCHEMA_SLOW_VALUES_MAX);
            return true;
        }
    }
    return false;
}

static bool is_one_of(const json_t *words, const json_t *value) {
    size_t i;
    const json_t *word;
    json_array_foreach(words, i, word) {
        if (json_equal(word, value)) {
            return true;
        }
    }
    return false;
}

static bool check_text(const struct check *c, const struct step *at, const struct schema_rule *rule,
                       const json_t *value) {
    if (json_string_length(value) > SCHEMA_TEXT_MAX) {
        return wrong(c, at, "is longer than %d bytes", SCHEMA_TEXT_MAX);
    }
    if (!schema_rule_allows_text(rule, json_string_value(value), json_string_length(value))) {
        return wrong(c, at, "is longer than %zu characters", rule->chars_max);
    }
    if (rule->is_address && !schema_text_is_address(json_string_value(value), json_string_length(value))) {
        return wrong(c, at, "is no address such as 0x1f");
    }
    if (rule->is_moment && !schema_text_is_moment(json_string_value(value), json_string_length(value))) {
        return wrong(c, at, "is no time of RFC 3339 in UTC");
    }
    return true;
}

static bool check_number(const struct check *c, const struct step *at, const struct schema_rule *rule,
                         const json_t *value) {
    double v = json_number_value(value);
    if (v < rule->min) {
        return wrong(c, at, "is less than %g", rule->min);
    }
    if (v > rule->max) {
        return wrong(c, at, "is more than %g", rule->max);
    }
    return true;
}

static const struct schema_rule *rule_of(const struct schema_rule *rule, const char *name, size_t *next) {
    size_t at = schema_rule_property(rule, name, strlen(name), *next);
    *next = at != SIZE_MAX ? at + 1 : *next;
    return at != SIZE_MAX ? rule->property[at].rule : rule->others;
}

static bool check_object(struct check *c, const struct step *at, const struct schema_rule *rule,
                         const json_t *value) {
    const json_t *word, *member;
    const char *name;
    size_t i, next = 0;
    json_array_foreach(rule->required, i, word) {
        if (json_object_get(value, json_string_value(word)) == NULL) {
            return wrong(c, at, "lacks '%s'", json_string_value(word));
        }
    }
    if (json_object_size(value) > SCHEMA_ITEMS_MAX) {
        return wrong(c, at, "has more than %d members", SCHEMA_ITEMS_MAX);
    }
    json_object_foreach((json_t *)(uintptr_t)value, name, member) {
        const struct schema_rule *below = rule_of(rule, name, &next);
        if (below != NULL && !check_value(c, &(struct step){.up = at, .name = name}, below, member)) {
            return false;
        }
    }
    return true;
}

static bool check_array(struct check *c, const struct step *at, const struct schema_rule *rule,
                        const json_t *value) {
    const json_t *item;
    size_t i;
    if (json_array_size(value) > rule->items_max) {
        return wrong(c, at, "has more than %zu items", rule->items_max);
    }
    if (rule->items != NULL) {
        json_array_foreach(value, i, item) {
            if (!check_value(c, &(struct step){.up = at, .index = i}, rule->items, item)) {
                return false;
            }
        }
    }
    return true;
}

static bool check_by_type(struct check *c, const struct step *at, const struct schema_rule *rule,
                          const json_t *value) {
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return check_object(c, at, rule, value);
    case JSON_ARRAY:
        return check_array(c, at, rule, value);
    case JSON_STRING:
        return check_text(c, at, rule, value);
    case JSON_INTEGER:
    case JSON_REAL:
        return check_number(c, at, rule, value);
    default:
        return true;
    }
}

static bool check_value(struct check *c, const struct step *at, const struct schema_rule *rule,
                        const json_t *value) {
    if (rule->refers != NULL) {
        rule = rule->refers;
    }
    if (rule->unknown != NULL) {
        return wrong(c, at, "has a rule that is unknown: %.100s", rule->unknown);
    }
    if ((rule->types & 1U << json_typeof(value)) == 0) {
        return wrong(c, at, "is no %s", rule->type);
    }
    if (rule->words != NULL && !is_one_of(rule->words, value)) {
        return wrong(c, at, "is none of the known words");
    }
    if (rule->only != NULL && !json_equal(rule->only, value)) {
        return wrong(c, at, "is not '%s'", json_string_value(rule->only));
    }
    if (++c->depth > SCHEMA_DEPTH_MAX) {
        return wrong(c, at, "nests deeper than %d levels", SCHEMA_DEPTH_MAX);
    }
    bool fits = check_by_type(c, at, rule, value);
    c->depth--;
    return fits;
}

bool schema_fits(const json_t *schema, const json_t *value, struct schema_fault *fault) {
    struct check c = {.fault = fault};
    memset(fault, 0, sizeof *fault);
    const struct schema_rule *rule = schema_rule_of(schema);
    return rule != NULL ? check_value(&c, NULL, rule, value)
                        : wrong(&c, NULL, "found no memory; send it again");
}
