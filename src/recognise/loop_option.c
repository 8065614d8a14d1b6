/* SPDX-License-Identifier: MIT */
#include "recognise/loop_option.h"

#include <string.h>

#include "image/file_symbol.h"

static void copy_part(char to[HD_RECORD_STRING], const char *from, size_t n) {
    n = n < HD_RECORD_STRING ? n : HD_RECORD_STRING - 1;
    memcpy(to, from, n);
    to[n] = '\0';
}

void hd_loop_option_init(struct hd_loop_option *o, const char *text) {
    size_t all = strlen(text);
    const char *colon = memchr(text, ':', all);
    size_t n = colon != NULL ? (size_t)(colon - text) : all;
    memset(o, 0, sizeof *o);
    copy_part(o->module, text, n);
    if (colon != NULL) {
        copy_part(o->function, colon + 1, all - n - 1);
    }
}

bool hd_loop_option_is_valid(const char *text) {
    size_t all = strlen(text), module = strcspn(text, ":");
    return module > 0 && module + 1 != all && all < HD_RECORD_STRING;
}

/* True if `path` is the MODULE of the option --loop. If MODULE starts with '/', it must be the whole path.
 * Otherwise a beginning of the file name that ends before a dot suffices: "libuv.so.1" and "libuv" both match
 * /usr/lib/libuv.so.1.0.0. */
static bool is_module(const struct hd_loop_option *o, const char *path) {
    size_t n = strlen(o->module);
    if (o->module[0] == '/') {
        return strcmp(o->module, path) == 0;
    }
    const char *base = path;
    for (const char *p = path; *p != '\0'; p++) {
        base = *p == '/' ? p + 1 : base;
    }
    return strncmp(base, o->module, n) == 0 &&
           (base[n] == '\0' || strncmp(base + n, ".so", 3) == 0 || base[n] == '.');
}

/* True for Hangdog's own module, whose index is `ours`, and for a sanitizer's runtime. In a build with a
 * sanitizer, the runtime's wait function calls Hangdog's wrapper. */
static bool is_skipped(const struct hd_modules *m, int index, int ours) {
    return index == ours || (index >= 0 && strstr(hd_module_path(m, (uint32_t)index), "san.so") != NULL);
}

static void look_up(struct hd_loop_option *o, struct hd_modules *m, uint32_t index) {
    const struct hd_module *module = &m->module[index];
    o->handle = module->handle;
    o->start = hd_module_symbol(m, index, o->function);
    if (o->start == 0) {
        uint64_t at = hd_file_symbol(hd_module_path(m, index), o->function);
        o->start = at != 0 ? at + module->bias : 0;
    }
}

uint32_t hd_loop_option_caller(struct hd_modules *m, const struct hd_frame *frames, uint32_t count) {
    int ours = count > 0 ? hd_modules_at(m, hd_frame_lookup_pc(&frames[0])) : -1;
    uint32_t i = 0;
    while (i < count && is_skipped(m, hd_modules_at(m, hd_frame_lookup_pc(&frames[i])), ours)) {
        i++;
    }
    return i;
}

bool hd_loop_option_matches(struct hd_loop_option *o, struct hd_modules *m, const struct hd_frame *frames,
                            uint32_t count) {
    uint32_t i = hd_loop_option_caller(m, frames, count);
    int index = i < count ? hd_modules_at(m, hd_frame_lookup_pc(&frames[i])) : -1;
    if (index < 0 || !is_module(o, hd_module_path(m, (uint32_t)index))) {
        return false;
    }
    if (o->function[0] != '\0' && o->handle != m->module[index].handle) {
        look_up(o, m, (uint32_t)index);
    }
    bool found = o->function[0] == '\0';
    for (; !found && i < count && hd_modules_at(m, hd_frame_lookup_pc(&frames[i])) == index; i++) {
        found = o->start != 0 && frames[i].start == o->start;
    }
    o->seen |= found;
    return found;
}
