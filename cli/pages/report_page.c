/* SPDX-License-Identifier: MIT */
#include "cli/pages/report_page.h"

#include <stdbool.h>
#include <string.h>

#include "cli/base/json_text.h"
#include "cli/pages/roff.h"

#define DEPTH_MAX 5
#define PATH_BYTES 256

/* "#/$defs/frames" is that definition. */
static const json_t *resolved(const json_t *schema, const json_t *member) {
    static const char start[] = "#/$defs/";
    const char *ref = json_text_or_null(member, "$ref");
    if (ref == NULL || strncmp(ref, start, sizeof start - 1) != 0) {
        return member;
    }
    const json_t *found = json_object_get(json_object_get(schema, "$defs"), ref + sizeof start - 1);
    return found != NULL ? found : member;
}

static void write_values(FILE *out, const json_t *member) {
    const json_t *values = json_object_get(member, "enum"), *value;
    const char *only = json_text_or_null(member, "const");
    size_t i;
    if (only != NULL) {
        fputs("Always ", out);
        roff_string(out, only);
        fputs(".\n", out);
    }
    json_array_foreach(values, i, value) {
        fputs(i == 0 ? "One of " : ", ", out);
        roff_string(out, json_string_value(value) != NULL ? json_string_value(value) : "?");
    }
    fputs(json_array_size(values) > 0 ? ".\n" : "", out);
}

/* A member: "cause.kind", of an array "threads[].tid". */
static void write_member(FILE *out, const char *path, const json_t *member, bool required) {
    const char *type = json_text_or_null(member, "type"),
               *description = json_text_or_null(member, "description");
    fputs(".TP\n\\fB", out);
    roff_string(out, path);
    fputs("\\fR", out);
    /* One of several words has no type in the schema. */
    fprintf(out, " (\\fI%s\\fR%s)", type != NULL ? type : "string", required ? ", always" : "");
    fputc('\n', out);
    if (description != NULL) {
        roff_sentence(out, description);
    }
    write_values(out, member);
    if (description == NULL && json_object_get(member, "enum") == NULL &&
        json_text_or_null(member, "const") == NULL) {
        fputs("\\&\n", out);
    }
}

static bool is_required(const json_t *object, const char *name) {
    const json_t *required = json_object_get(object, "required"), *one;
    size_t i;
    json_array_foreach(required, i, one) {
        if (json_string_value(one) != NULL && strcmp(json_string_value(one), name) == 0) {
            return true;
        }
    }
    return false;
}

static void write_members(FILE *out, const json_t *schema, const json_t *object, const char *path,
                          int depth) {
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(object, "properties"), name, value) {
        char here[PATH_BYTES];
        const json_t *member = resolved(schema, value);
        bool array = json_object_get(member, "items") != NULL;
        snprintf(here, sizeof here, "%s%s%s%s", path, path[0] != '\0' ? "." : "", name, array ? "[]" : "");
        write_member(out, here, member, is_required(object, name));
        const json_t *inner = array ? resolved(schema, json_object_get(member, "items")) : member;
        /* Frames are everywhere: the first stack has their members. */
        bool frames = strcmp(name, "frames") == 0 && strcmp(path, "hot_stack") != 0;
        if (depth < DEPTH_MAX && !frames) {
            write_members(out, schema, inner, here, depth + 1);
        }
    }
}

void report_page_write(FILE *out, const json_t *schema) {
    const char *description = json_text_or_null(schema, "description");
    roff_title(out, "hangdog-report", 5);
    fputs(".SH NAME\nhangdog\\-report \\- a report of a hang, as JSON\n"
          ".SH EXAMPLES\n"
          ".TP\n\\fBhangdog show \\-\\-json | jq .cause\\fR\nWhy the last hang lasted.\n"
          ".TP\n\\fBjq \\-r .duration_ns ~/.local/state/hangdog/*/*.json\\fR\nHow long each hang lasted.\n"
          ".SH DESCRIPTION\n",
          out);
    roff_sentence(out, description != NULL ? description : "A report");
    fputs(
        ".PP\nTimes are in nanoseconds, moments in UTC as of RFC 3339. A member without \\(dqalways\\(dq may be "
        "missing.\nThe JSON schema is docs/report.schema.json of the sources.\n.SH MEMBERS\n",
        out);
    write_members(out, schema, schema, "", 0);
    fputs(".SH SEE ALSO\n\\fBhangdog\\fR(1),\n\\fBhangdog\\-show\\fR(1),\n\\fBhangdog\\-list\\fR(1)\n", out);
}
