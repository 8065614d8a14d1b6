/* SPDX-License-Identifier: MIT
 *
 * The text members of a JSON object. Pure. The text is valid as long as the object has the member.
 */
#ifndef CLI_JSON_TEXT_H
#define CLI_JSON_TEXT_H

#include <jansson.h>
#include <stddef.h>

/* NULL: the object has no such member, or the member is not a text. */
static inline const char *json_text_or_null(const json_t *object, const char *name) {
    return json_string_value(json_object_get(object, name));
}

/* The same; "" instead of NULL. */
static inline const char *json_text(const json_t *object, const char *name) {
    const char *text = json_text_or_null(object, name);
    return text != NULL ? text : "";
}

#endif
