/* SPDX-License-Identifier: MIT
 * Finds JavaScript functions on a stack of V8. V8 has frame pointers, and the frame of a JavaScript function
 * has the JSFunction, which refers to name, script and source. Worker; runs during a hang; no allocation.
 */
#include "script/v8.h"

#include <string.h>

#include "base/hash.h"
#include "script/functions.h"

#define FUNCTION_TYPES 17 /* JSFunction's own kinds: classes, arrays' constructors ... */
#define CODE_WINDOW UINT64_C(0x7fffffff)
#define FILE_SCHEME "file://"
#define ANONYMOUS "(anonymous)"

struct function { /* objects that a JSFunction refers to */
    uint64_t shared, name, script;
};

static bool stack_word(const struct hd_script_stack *st, uint64_t address, uint64_t *out) {
    if (address < st->address || address - st->address > st->size || st->size - (address - st->address) < 8) {
        return false;
    }
    *out = hd_script_u64(st->bytes + (address - st->address));
    return true;
}

/* Where frame i has its frame pointer; 0: it was unwound without one. */
static uint64_t frame_pointer(const struct hd_script_stack *st, const struct hd_frame *frames, uint32_t i) {
    const struct hd_frame *caller = &frames[i + 1];
    uint64_t fp = st->address + caller->at - 16, back;
    bool may = caller->trust == HD_TRUST_FRAME_POINTER && caller->at > frames[i].at && caller->at >= 16;
    return may && stack_word(st, fp + 8, &back) && back == caller->pc ? fp : 0;
}

/* A map that was seen to be of this kind needs no second look. */
static bool has_type(struct hd_scripts *s, uint64_t object, uint64_t *map, int32_t first, int32_t last) {
    uint64_t now;
    if (!hd_v8_word(s, object, 0, &now)) {
        return false;
    }
    if (now != *map) {
        int32_t type = hd_v8_type(s, object);
        if (type < first || type > last) {
            return false;
        }
        *map = now;
    }
    return true;
}

static bool read_function(struct hd_scripts *s, uint64_t object, struct function *out) {
    const struct hd_v8_offsets *v8 = &s->v8;
    return has_type(s, object, &s->v8_function_map, v8->type_function, v8->type_function + FUNCTION_TYPES) &&
           hd_v8_word(s, object, v8->function_shared, &out->shared) &&
           has_type(s, out->shared, &s->v8_shared_map, v8->type_shared, v8->type_shared) &&
           hd_v8_word(s, out->shared, v8->shared_name, &out->name) &&
           hd_v8_word(s, out->shared, v8->shared_script, &out->script);
}

/* The first string of a ScopeInfo behind its locals that is not empty: the function's name, or the one that
 * V8 inferred. */
static bool scope_name(const struct hd_scripts *s, uint64_t scope, struct hd_v8_string *out) {
    const struct hd_v8_offsets *v8 = &s->v8;
    uint64_t word;
    if (!hd_v8_word(s, scope, 8 + 8 * v8->scope_locals, &word) || !hd_v8_is_small(word)) {
        return false;
    }
    int32_t n = hd_v8_small(word), at = v8->scope_first + (n > 75 ? n + 1 : 2 * n);
    for (int32_t i = 0; n >= 0 && i < 5; i++) {
        if (hd_v8_word(s, scope, 8 + 8 * (at + i), &word) && hd_v8_string(s, word, out) && out->length > 0) {
            return true;
        }
    }
    return false;
}

static uint32_t keep_string(struct hd_scripts *s, const struct hd_v8_string *string, bool file) {
    uint8_t data[HD_SCRIPT_FILE_CHARACTERS * 2];
    uint32_t max = file ? HD_SCRIPT_FILE_CHARACTERS : HD_SCRIPT_NAME_CHARACTERS;
    uint32_t n = string->length < max ? string->length : max;
    uint64_t from = string->address + (file ? (uint64_t)(string->length - n) * string->width : 0);
    if (!hd_script_read(s, from, data, (size_t)n * string->width)) {
        return UINT32_MAX;
    }
    size_t scheme = strlen(FILE_SCHEME);
    bool url = file && string->width == 1 && n > scheme && memcmp(data, FILE_SCHEME, scheme) == 0;
    return hd_functions_keep(s, data + (url ? scheme : 0), n - (url ? (uint32_t)scheme : 0), string->width,
                             file);
}

/* V8's built-in functions have no script. */
static uint32_t keep_file(struct hd_scripts *s, const struct function *f, uint64_t *source) {
    struct hd_v8_string name;
    uint64_t word;
    *source = 0;
    if (hd_v8_type(s, f->script) != s->v8.type_script ||
        !hd_v8_word(s, f->script, s->v8.script_source, source) ||
        !hd_v8_word(s, f->script, s->v8.script_name, &word) || !hd_v8_string(s, word, &name)) {
        return hd_functions_keep(s, NULL, 0, 1, true);
    }
    return keep_string(s, &name, true);
}

/* The function's index plus one, 0: it could not be named. */
static uint16_t name_function(struct hd_scripts *s, const struct function *f, struct hd_script *new) {
    struct hd_v8_string name;
    uint64_t source;
    if (!hd_functions_room(s)) {
        return 0;
    }
    uint32_t before = s->string_bytes, start = 0, end = 0;
    new->file = keep_file(s, f, &source);
    bool is_string = hd_v8_string(s, f->name, &name);
    bool named = is_string ? name.length > 0 : scope_name(s, f->name, &name);
    new->name = named ? keep_string(s, &name, false)
                      : hd_functions_keep(s, (const uint8_t *)ANONYMOUS, sizeof ANONYMOUS - 1, 1, false);
    if (new->file == UINT32_MAX || new->name == UINT32_MAX ||
        (!is_string && hd_v8_type(s, f->name) != s->v8.type_scope)) {
        s->string_bytes = before;
        return 0;
    }
    if (source != 0 && hd_v8_range(s, f->name, &start, &end)) {
        new->first_line = hd_v8_line(s, source, start);
    }
    const char *text = s->string;
    uint64_t key = hd_hash(HD_HASH_BEGIN, text + new->name, strlen(text + new->name) + 1);
    key = hd_hash(key, text + new->file, strlen(text + new->file) + 1);
    new->code = hd_hash(key, &start, sizeof start) | 1;
    new->language = HD_SCRIPT_JAVASCRIPT;
    for (uint32_t i = 0; i < s->count; i++) { /* an object of the heap that has moved since */
        if (s->script[i].code == new->code) {
            s->string_bytes = before;
            return (uint16_t)(i + 1);
        }
    }
    return hd_functions_add(s, new);
}

/* Where an interpreted frame is in its bytecode; 0: it runs compiled code. */
static uint64_t bytecode_at(const struct hd_scripts *s, const struct hd_script_stack *st, uint64_t fp,
                            uint64_t *array) {
    const struct hd_v8_offsets *v8 = &s->v8;
    uint64_t offset;
    int32_t head = v8->bytecode_data - 1;
    bool interpreted = stack_word(st, fp + (uint64_t)(int64_t)v8->frame_bytecode_array, array) &&
                       hd_v8_is_object(*array) &&
                       stack_word(st, fp + (uint64_t)(int64_t)v8->frame_bytecode_offset, &offset) &&
                       hd_v8_is_small(offset) && hd_v8_small(offset) >= head;
    return interpreted ? (uint64_t)(hd_v8_small(offset) - head) + 1 : 0;
}

static uint32_t line_at(const struct hd_scripts *s, const struct function *f, uint64_t array, uint64_t at) {
    uint32_t start, end;
    uint64_t source;
    if (at == 0 || hd_v8_type(s, f->script) != s->v8.type_script || !hd_v8_range(s, f->name, &start, &end) ||
        !hd_v8_word(s, f->script, s->v8.script_source, &source)) {
        return 0;
    }
    uint32_t position = hd_v8_position(s, array, at - 1, start, end);
    return position == 0 ? 0 : hd_v8_line(s, source, position);
}

static bool place_of(struct hd_scripts *s, const struct hd_script_stack *st, uint64_t fp,
                     struct hd_script_place *out) {
    struct function f;
    uint64_t object, array = 0;
    if (!stack_word(st, fp + (uint64_t)(int64_t)s->v8.frame_function, &object) ||
        !read_function(s, object, &f)) {
        return false;
    }
    uint64_t at = bytecode_at(s, st, fp, &array);
    uint64_t key = hd_hash(hd_hash(HD_HASH_BEGIN, &f, sizeof f), &at, sizeof at);
    struct hd_script_place *known = &s->place[key % HD_SCRIPT_CACHE];
    if (known->script != 0 && known->instr == key && known->code == f.shared) {
        *out = *known;
        return true;
    }
    struct hd_script new = {.first_line = 0};
    *out = (struct hd_script_place){.instr = key, .code = f.shared, .script = name_function(s, &f, &new)};
    if (out->script == 0) {
        return false;
    }
    out->line = line_at(s, &f, array, at);
    out->line = out->line != 0 ? out->line : s->script[out->script - 1].first_line;
    *known = *out;
    return true;
}

void hd_v8_frames(struct hd_scripts *s, struct hd_frame *frames, uint32_t count,
                  const struct hd_script_stack *stack) {
    struct hd_script_place place;
    for (uint32_t i = 0; i + 1 < count && s->frames < HD_SCRIPT_FRAMES_MAX; i++) {
        uint64_t fp = i + 1 == stack->cut_at ? 0 : frame_pointer(stack, frames, i), mark;
        /* Where a JavaScript function has its context, V8's other frames have a small integer. */
        if (fp == 0 || !stack_word(stack, fp + (uint64_t)(int64_t)s->v8.frame_context_or_type, &mark) ||
            !hd_v8_is_object(mark) || !place_of(s, stack, fp, &place)) {
            continue;
        }
        s->frame[s->frames++] =
            (struct hd_script_frame){.script = place.script, .line = place.line, .native = (uint16_t)i};
        if (frames[i].start == 0) {
            frames[i].start =
                (frames[i].pc & ~CODE_WINDOW) | (s->script[place.script - 1].code & CODE_WINDOW);
        }
    }
}
