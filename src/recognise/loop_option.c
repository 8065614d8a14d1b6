/* SPDX-License-Identifier: MIT
 *
 * Worker: the loop that the user names. No allocation.
 */
#include "recognise/loop_option.h"

#include <string.h>

static void copy_part(char to[HD_RECORD_STRING], const char *from, size_t n) {
    n = n < HD_RECORD_STRING ? n : HD_RECORD_STRING - 1;
    memcpy(to, from, n);
    to[n] = '\0';
}

void hd_loop_option_init(struct hd_loop_option *c, const char *text) {
    size_t all = strlen(text);
    const char *colon = memchr(text, ':', all);
    size_t n = colon != NULL ? (size_t)(colon - text) : all;
    memset(c, 0, sizeof *c);
    copy_part(c->module, text, n);
    if (colon != NULL) {
        copy_part(c->function, colon + 1, all - n - 1);
    }
}

/* "libuv.so.1" and "libuv" are /usr/lib/libuv.so.1.0.0; a path is itself. */
static bool is_module(const struct hd_loop_option *c, const char *path) {
    size_t n = strlen(c->module);
    if (c->module[0] == '/') {
        return strcmp(c->module, path) == 0;
    }
    const char *base = path;
    for (const char *p = path; *p != '\0'; p++) {
        base = *p == '/' ? p + 1 : base;
    }
    return strncmp(base, c->module, n) == 0 &&
           (base[n] == '\0' || strncmp(base + n, ".so", 3) == 0 || base[n] == '.');
}

/* Ours, or a sanitizer's runtime: it comes before us in its process and calls us. */
static bool is_passed_over(const struct hd_modules *m, int index, int ours) {
    return index == ours || (index >= 0 && strstr(hd_module_path(m, (uint32_t)index), "san.so") != NULL);
}

static void look_up(struct hd_loop_option *c, struct hd_modules *m, uint32_t index) {
    const struct hd_module *module = &m->module[index];
    c->handle = module->handle;
    c->start = hd_module_symbol(m, index, c->function);
    if (c->start == 0) {
        uint64_t at = hd_file_symbol(hd_module_path(m, index), c->function);
        c->start = at != 0 ? at + module->bias : 0;
    }
}

uint32_t hd_loop_option_caller(struct hd_modules *m, const struct hd_frame *frames, uint32_t count) {
    int ours = count > 0 ? hd_modules_at(m, hd_frame_lookup_pc(&frames[0])) : -1;
    uint32_t i = 0;
    while (i < count && is_passed_over(m, hd_modules_at(m, hd_frame_lookup_pc(&frames[i])), ours)) {
        i++;
    }
    return i;
}

bool hd_loop_option_matches(struct hd_loop_option *c, struct hd_modules *m, const struct hd_frame *frames,
                            uint32_t count) {
    uint32_t i = hd_loop_option_caller(m, frames, count);
    int index = i < count ? hd_modules_at(m, hd_frame_lookup_pc(&frames[i])) : -1;
    if (index < 0 || !is_module(c, hd_module_path(m, (uint32_t)index))) {
        return false;
    }
    if (c->function[0] != '\0' && c->handle != m->module[index].handle) {
        look_up(c, m, (uint32_t)index);
    }
    bool found = c->function[0] == '\0';
    for (; !found && i < count && hd_modules_at(m, hd_frame_lookup_pc(&frames[i])) == index; i++) {
        found = c->start != 0 && frames[i].start == c->start;
    }
    c->seen |= found;
    return found;
}
