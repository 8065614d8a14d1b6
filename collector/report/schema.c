/* SPDX-License-Identifier: MIT */
#include "collector/report/schema.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* What is checked now: `root` resolves references, `at` grows on the way down. */
struct check {
    const json_t *root;
    struct schema_fault *fault;
    size_t used; /* of fault->at */
    int depth;
};

static bool check_value(struct check *c, const json_t *schema, const json_t *value);

static bool __attribute__((format(printf, 2, 3))) wrong(const struct check *c, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(c->fault->reason, sizeof c->fault->reason, format, args);
    va_end(args);
    return false;
}

bool schema_is_too_much(const char *text, size_t bytes, struct schema_fault *fault) {
    size_t depth = 0, values = 0;
    bool quoted = false;
    fault->at[0] = '\0';
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
        if (values > SCHEMA_VALUES_MAX) {
            snprintf(fault->reason, sizeof fault->reason, "has more than %d values", SCHEMA_VALUES_MAX);
            return true;
        }
    }
    return false;
}

static bool is_of_type(const char *type, const json_t *value) {
    static const struct {
        const char *name;
        json_type type;
    } types[] = {
        {"object", JSON_OBJECT}, {"array", JSON_ARRAY}, {"string", JSON_STRING}, {"integer", JSON_INTEGER}};
    if (strcmp(type, "boolean") == 0) {
        return json_is_boolean(value);
    }
    if (strcmp(type, "number") == 0) {
        return json_is_number(value);
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(type, types[i].name) == 0) {
            return json_typeof(value) == types[i].type;
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

/* The one pattern of the schema: "^0x[0-9a-f]+$". */
static bool is_address(const char *text) {
    return strncmp(text, "0x", 2) == 0 && text[2] != '\0' &&
           strspn(text + 2, "0123456789abcdef") == strlen(text + 2);
}

/* "2026-01-31T12:00:00.123Z"; the length of the digits is free. */
static bool is_moment(const char *text) {
    static const char shape[] = "0000-00-00T00:00:00";
    for (size_t i = 0; i < sizeof shape - 1; i++) {
        bool digit = text[i] >= '0' && text[i] <= '9';
        if (shape[i] == '0' ? !digit : text[i] != shape[i]) {
            return false;
        }
    }
    text += sizeof shape - 1;
    if (*text == '.') {
        size_t digits = strspn(text + 1, "0123456789");
        text += digits > 0 ? 1 + digits : 0;
    }
    return strcmp(text, "Z") == 0;
}

static bool check_text(const struct check *c, const json_t *schema, const json_t *value) {
    const char *text = json_string_value(value);
    if (json_string_length(value) > SCHEMA_TEXT_MAX) {
        return wrong(c, "is longer than %d bytes", SCHEMA_TEXT_MAX);
    }
    if (json_object_get(schema, "pattern") != NULL && !is_address(text)) {
        return wrong(c, "is no address such as 0x1f");
    }
    if (json_object_get(schema, "format") != NULL && !is_moment(text)) {
        return wrong(c, "is no time of RFC 3339 in UTC");
    }
    return true;
}

static bool check_number(const struct check *c, const json_t *schema, const json_t *value) {
    const json_t *min = json_object_get(schema, "minimum"), *max = json_object_get(schema, "maximum");
    double v = json_number_value(value);
    if (min != NULL && v < json_number_value(min)) {
        return wrong(c, "is less than %g", json_number_value(min));
    }
    if (max != NULL && v > json_number_value(max)) {
        return wrong(c, "is more than %g", json_number_value(max));
    }
    return true;
}

/* One step down; on the way back the fault's place stays where one was found. */
static bool check_below(struct check *c, const json_t *schema, const json_t *value, const char *name,
                        size_t index) {
    size_t used = c->used, size = sizeof c->fault->at;
    int n = name != NULL ? snprintf(c->fault->at + used, size - used, "/%.60s", name)
                         : snprintf(c->fault->at + used, size - used, "/%zu", index);
    c->used = used + (size_t)n < size ? used + (size_t)n : size - 1;
    if (!check_value(c, schema, value)) {
        return false;
    }
    c->used = used;
    c->fault->at[used] = '\0';
    return true;
}

static bool check_object(struct check *c, const json_t *schema, const json_t *value) {
    const json_t *required = json_object_get(schema, "required"), *word, *member;
    const json_t *properties = json_object_get(schema, "properties"),
                 *others = json_object_get(schema, "additionalProperties");
    size_t i;
    const char *name;
    json_array_foreach(required, i, word) {
        if (json_object_get(value, json_string_value(word)) == NULL) {
            return wrong(c, "lacks '%s'", json_string_value(word));
        }
    }
    if (json_object_size(value) > SCHEMA_ITEMS_MAX) {
        return wrong(c, "has more than %d members", SCHEMA_ITEMS_MAX);
    }
    json_object_foreach((json_t *)(uintptr_t)value, name, member) {
        const json_t *rule = json_object_get(properties, name);
        rule = rule != NULL ? rule : others;
        if (rule != NULL && !check_below(c, rule, member, name, 0)) {
            return false;
        }
    }
    return true;
}

static bool check_array(struct check *c, const json_t *schema, const json_t *value) {
    const json_t *items = json_object_get(schema, "items"), *item;
    size_t i;
    if (json_array_size(value) > SCHEMA_ITEMS_MAX) {
        return wrong(c, "has more than %d items", SCHEMA_ITEMS_MAX);
    }
    json_array_foreach(value, i, item) {
        if (items != NULL && !check_below(c, items, item, NULL, i)) {
            return false;
        }
    }
    return true;
}

/* "#/$defs/frames" */
static const json_t *referred(const json_t *root, const char *reference) {
    static const char start[] = "#/$defs/";
    if (strncmp(reference, start, sizeof start - 1) != 0) {
        return NULL;
    }
    return json_object_get(json_object_get(root, "$defs"), reference + sizeof start - 1);
}

static bool check_by_type(struct check *c, const json_t *schema, const json_t *value) {
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return check_object(c, schema, value);
    case JSON_ARRAY:
        return check_array(c, schema, value);
    case JSON_STRING:
        return check_text(c, schema, value);
    case JSON_INTEGER:
    case JSON_REAL:
        return check_number(c, schema, value);
    default:
        return true;
    }
}

static bool check_value(struct check *c, const json_t *schema, const json_t *value) {
    const char *reference = json_string_value(json_object_get(schema, "$ref"));
    if (reference != NULL && (schema = referred(c->root, reference)) == NULL) {
        return wrong(c, "has a rule that is unknown: %.100s", reference);
    }
    const char *type = json_string_value(json_object_get(schema, "type"));
    const json_t *words = json_object_get(schema, "enum"), *only = json_object_get(schema, "const");
    if (type != NULL && !is_of_type(type, value)) {
        return wrong(c, "is no %s", type);
    }
    if (words != NULL && !is_one_of(words, value)) {
        return wrong(c, "is none of the known words");
    }
    if (only != NULL && !json_equal(only, value)) {
        return wrong(c, "is not '%s'", json_string_value(only));
    }
    if (++c->depth > SCHEMA_DEPTH_MAX) {
        return wrong(c, "nests deeper than %d levels", SCHEMA_DEPTH_MAX);
    }
    bool fits = check_by_type(c, schema, value);
    c->depth--;
    return fits;
}

bool schema_fits(const json_t *schema, const json_t *value, struct schema_fault *fault) {
    struct check c = {.root = schema, .fault = fault};
    memset(fault, 0, sizeof *fault);
    return check_value(&c, schema, value);
}
