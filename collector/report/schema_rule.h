/* SPDX-License-Identifier: MIT
 *
 * A schema in the form in which it is checked fast: its words are looked up once, not for each value.
 */
#ifndef COLLECTOR_REPORT_SCHEMA_RULE_H
#define COLLECTOR_REPORT_SCHEMA_RULE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct schema_rule;

struct schema_property {
    const char *name;
    size_t name_bytes;
    const struct schema_rule *rule;
};

struct schema_rule {
    const json_t *from;               /* of the schema; the texts below are in it */
    const struct schema_rule *refers; /* the rule is that one */
    const char *unknown;              /* a reference to nothing */
    const char *type;
    unsigned types; /* a bit for each json_type that is allowed */
    const json_t *words, *only, *required;
    double min, max;
    size_t items_max,
        chars_max; /* of a list, and of a text; as schema.h has them where the schema has none */
    bool is_address, is_moment;
    size_t properties;
    struct schema_property *property;
    const struct schema_rule *others, *items;
    bool is_fast;           /* fast_parse.h knows all of it */
    uint64_t required_seen; /* a bit for each property that is required; of fast rules */
};

/* The rule of a whole schema, made at the first call and kept until the process ends, as is the schema. Any
 * thread. NULL: no memory. */
const struct schema_rule *schema_rule_of(const json_t *schema);

/* The text is not too long: in characters for the rule, in bytes for schema.h. */
bool schema_rule_allows_text(const struct schema_rule *rule, const char *text, size_t bytes);

/* The property of that name, which is looked for from `next` on; SIZE_MAX: none. Members mostly come in the
 * order of the schema. */
size_t schema_rule_property(const struct schema_rule *rule, const char *name, size_t bytes, size_t next);

#endif
