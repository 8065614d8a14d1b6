/* SPDX-License-Identifier: MIT */
#include "collector/report/schema_rule.h"

#include <float.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collector/report/schema.h"

/* A schema that has been made ready. None is ever removed, so readers need no lock. */
struct ready {
    const json_t *schema;
    const struct schema_rule *rule;
    struct ready *next;
};

static _Atomic(struct ready *) first;

/* The rules of "$defs", which may refer to each other, also in a circle. */
struct maker {
    const json_t *definitions;
    struct schema_rule *defined; /* in the order of `definitions` */
    bool no_memory;
};

static void make_rule(struct maker *m, const json_t *from, struct schema_rule *out);

static const struct schema_rule *new_rule(struct maker *m, const json_t *from) {
    if (!json_is_object(from)) {
        return NULL; /* true and false: no rule */
    }
    struct schema_rule *rule = calloc(1, sizeof *rule);
    if (rule == NULL) {
        m->no_memory = true;
        return NULL;
    }
    make_rule(m, from, rule);
    return rule;
}

static const struct schema_rule *referred(const struct maker *m, const char *reference) {
    static const char start[] = "#/$defs/";
    const char *name;
    const json_t *value;
    size_t i = 0;
    if (strncmp(reference, start, sizeof start - 1) != 0) {
        return NULL;
    }
    json_object_foreach((json_t *)(uintptr_t)m->definitions, name, value) {
        if (strcmp(name, reference + sizeof start - 1) == 0) {
            return &m->defined[i];
        }
        i++;
    }
    return NULL;
}

static unsigned types_of(const char *type) {
    static const struct {
        const char *name;
        unsigned types;
    } types[] = {{"object", 1U << JSON_OBJECT},
                 {"array", 1U << JSON_ARRAY},
                 {"string", 1U << JSON_STRING},
                 {"integer", 1U << JSON_INTEGER},
                 {"number", 1U << JSON_INTEGER | 1U << JSON_REAL},
                 {"boolean", 1U << JSON_TRUE | 1U << JSON_FALSE}};
    for (size_t i = 0; type != NULL && i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(type, types[i].name) == 0) {
            return types[i].types;
        }
    }
    return type == NULL ? ~0U : 0;
}

bool schema_rule_allows_text(const struct schema_rule *rule, const char *text, size_t bytes) {
    size_t chars = bytes;
    for (size_t i = 0; bytes > rule->chars_max && i < bytes && bytes <= SCHEMA_TEXT_MAX; i++) {
        chars -= ((unsigned char)text[i] & 0xc0) == 0x80;
    }
    return bytes <= SCHEMA_TEXT_MAX && chars <= rule->chars_max;
}

static double number_or(const json_t *number, double otherwise) {
    return number != NULL ? json_number_value(number) : otherwise;
}

static void make_properties(struct maker *m, const json_t *from, struct schema_rule *out) {
    const char *name;
    const json_t *value;
    out->property = calloc(json_object_size(from) + 1, sizeof *out->property);
    m->no_memory = m->no_memory || out->property == NULL;
    if (out->property != NULL) {
        json_object_foreach((json_t *)(uintptr_t)from, name, value) {
            out->property[out->properties++] =
                (struct schema_property){name, strlen(name), new_rule(m, value)};
        }
    }
}

size_t schema_rule_property(const struct schema_rule *rule, const char *name, size_t bytes, size_t next) {
    for (size_t i = 0; i < rule->properties; i++) {
        size_t at = next + i < rule->properties ? next + i : next + i - rule->properties;
        if (rule->property[at].name_bytes == bytes && memcmp(rule->property[at].name, name, bytes) == 0) {
            return at;
        }
    }
    return SIZE_MAX;
}

/* A set of 64 bits has the members that were seen. */
static void set_fast(struct schema_rule *rule) {
    const json_t *name;
    size_t i;
    rule->is_fast = rule->properties <= 64;
    json_array_foreach(rule->required, i, name) {
        size_t at = schema_rule_property(rule, json_string_value(name), json_string_length(name), 0);
        rule->is_fast = rule->is_fast && at != SIZE_MAX;
        rule->required_seen |= rule->is_fast ? UINT64_C(1) << at : 0;
    }
}

static void make_rule(struct maker *m, const json_t *from, struct schema_rule *out) {
    const char *reference = json_string_value(json_object_get(from, "$ref"));
    *out = (struct schema_rule){
        .from = from,
        .type = json_string_value(json_object_get(from, "type")),
        .words = json_object_get(from, "enum"),
        .only = json_object_get(from, "const"),
        .required = json_object_get(from, "required"),
        .min = number_or(json_object_get(from, "minimum"), -DBL_MAX),
        .max = number_or(json_object_get(from, "maximum"), DBL_MAX),
        .items_max = (size_t)number_or(json_object_get(from, "maxItems"), SCHEMA_ITEMS_MAX),
        .chars_max = (size_t)number_or(json_object_get(from, "maxLength"), SCHEMA_TEXT_MAX),
        .is_address = json_object_get(from, "pattern") != NULL,
        .is_moment = json_object_get(from, "format") != NULL,
    };
    out->types = types_of(out->type);
    if (reference != NULL) {
        out->refers = referred(m, reference);
        out->unknown = out->refers == NULL ? reference : NULL;
        return;
    }
    out->others = new_rule(m, json_object_get(from, "additionalProperties"));
    out->items = new_rule(m, json_object_get(from, "items"));
    make_properties(m, json_object_get(from, "properties"), out);
    set_fast(out);
}

static const struct schema_rule *make_all(const json_t *schema) {
    struct maker m = {.definitions = json_object_get(schema, "$defs")};
    const char *name;
    const json_t *value;
    size_t i = 0;
    m.defined = calloc(json_object_size(m.definitions) + 1, sizeof *m.defined);
    if (m.defined == NULL) {
        return NULL;
    }
    json_object_foreach((json_t *)(uintptr_t)m.definitions, name, value) {
        (void)name;
        make_rule(&m, value, &m.defined[i++]);
    }
    const struct schema_rule *rule = new_rule(&m, schema);
    /* Rules stay for good; what was made before memory ran out does, too. */
    return m.no_memory ? NULL : rule; // NOLINT(clang-analyzer-unix.Malloc)
}

static const struct schema_rule *find(const json_t *schema) {
    const struct ready *r = atomic_load_explicit(&first, memory_order_acquire);
    while (r != NULL && r->schema != schema) {
        r = r->next;
    }
    return r != NULL ? r->rule : NULL;
}

const struct schema_rule *schema_rule_of(const json_t *schema) {
    static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
    const struct schema_rule *rule = find(schema);
    if (rule != NULL) {
        return rule;
    }
    pthread_mutex_lock(&making);
    rule = find(schema);
    struct ready *r = rule == NULL ? malloc(sizeof *r) : NULL;
    if (r != NULL) {
        *r = (struct ready){json_incref((json_t *)(uintptr_t)schema), make_all(schema), atomic_load(&first)};
        rule = r->rule;
        if (rule != NULL) {
            atomic_store_explicit(&first, r, memory_order_release);
        } else {
            json_decref((json_t *)(uintptr_t)schema);
            free(r);
        }
    }
    pthread_mutex_unlock(&making);
    return rule;
}
