/* SPDX-License-Identifier: MIT */
#include "collector/sentry/sentry_stack.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/json_text.h"

#define FRAMES_MAX 256
#define NAME_BYTES 512
#define BUILD_ID_CHARS 64
#define ADDRESS_CHARS 20  /* of 2^64 as a decimal number */
#define LANGUAGE_CHARS 32 /* each frame gets a copy of the event's */

/* Sentry writes addresses as "0x1F" or as a number. Other texts are ignored, since a parse of a long text of
 * blanks would take long. */
static uint64_t address_of(const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    const char *text = json_string_value(value);
    if (text == NULL) {
        return (uint64_t)json_integer_value(value);
    }
    bool is_one = isdigit((unsigned char)text[0]) && json_string_length(value) <= ADDRESS_CHARS;
    return is_one ? strtoull(text, NULL, 0) : 0;
}

static json_t *address(uint64_t value) {
    return json_sprintf("0x%" PRIx64, value);
}

static const json_t *images_of(const json_t *event) {
    return json_object_get(json_object_get(event, "debug_meta"), "images");
}

static int compare_images(const void *a, const void *b) {
    const struct sentry_image *x = a, *y = b;
    return x->base != y->base ? (x->base < y->base ? -1 : 1) : y->index - x->index; /* the first one wins */
}

void sentry_stack_images(const json_t *event, struct sentry_images *images) {
    const json_t *list = images_of(event), *image;
    size_t i;
    images->count = 0;
    json_array_foreach(list, i, image) {
        if (i == SENTRY_IMAGES_MAX) {
            break;
        }
        uint64_t base = address_of(image, "image_addr"), size = address_of(image, "image_size");
        if (base != 0 && size != 0) {
            uint64_t room = UINT64_MAX - base;
            images->image[images->count++] =
                (struct sentry_image){base, base + (size - 1 < room ? size - 1 : room), (int)i};
        }
    }
    qsort(images->image, images->count, sizeof images->image[0], compare_images);
}

/* The last image that starts at `pc` or before it; NULL: none. */
static const struct sentry_image *image_before(const struct sentry_images *images, uint64_t pc) {
    size_t low = 0, high = images->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (images->image[middle].base <= pc) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 ? &images->image[low - 1] : NULL;
}

/* The image that has this address; NULL: none. */
static const struct sentry_image *find_image(const struct sentry_images *images, uint64_t pc) {
    const struct sentry_image *image = image_before(images, pc);
    return image != NULL && pc <= image->last ? image : NULL;
}

/* The script language of a platform; NULL: native code, or an unknown platform. */
static const char *language_of(const char *platform) {
    static const char *const other[][2] = {{"node", "javascript"}, {"native", NULL}, {"c", NULL},
                                           {"cocoa", NULL},        {"objc", NULL},   {"swift", NULL},
                                           {"rust", NULL},         {"", NULL}};
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        if (strcmp(platform, other[i][0]) == 0) {
            return other[i][1];
        }
    }
    return strlen(platform) <= LANGUAGE_CHARS ? platform : NULL;
}

/* Java and .NET have the class apart: "com.example.Shop" and "checkout". */
static void set_function(json_t *to, const json_t *frame, const char *platform) {
    const char *function = json_text(frame, "function"), *module = json_text(frame, "module");
    bool joined = module[0] != '\0' && (strcmp(platform, "java") == 0 || strcmp(platform, "csharp") == 0);
    if (function[0] == '\0' || strcmp(function, "?") == 0) {
        if (language_of(platform) != NULL) {
            json_object_set_new(to, "function", json_string("<anonymous>"));
        }
        return;
    }
    json_object_set_new(to, "function",
                        joined ? json_sprintf("%s.%s", module, function) : json_string(function));
}

static void set_place(json_t *to, const json_t *frame) {
    const char *file = json_text(frame, "abs_path");
    json_int_t line = json_integer_value(json_object_get(frame, "lineno"));
    file = file[0] != '\0' ? file : json_text(frame, "filename");
    if (file[0] == '\0') {
        return;
    }
    json_object_set_new(to, "file", json_string(strncmp(file, "file:///", 8) == 0 ? file + 7 : file));
    if (line > 0) {
        json_object_set_new(to, "line", json_integer(line));
    }
}

static void set_address(json_t *to, const struct sentry_images *images, const json_t *frame, bool innermost) {
    uint64_t pc = address_of(frame, "instruction_addr");
    const struct sentry_image *image = pc != 0 ? find_image(images, pc) : NULL;
    json_object_set_new(to, "pc", address(pc));
    if (image == NULL) {
        return;
    }
    json_object_set_new(to, "module", json_integer(image->index));
    json_object_set_new(to, "offset", address(pc - image->base));
    if (innermost) {
        json_object_set_new(to, "trust", json_string("context"));
    }
}

static json_t *frame_of(const json_t *event, const struct sentry_images *images, const json_t *frame,
                        bool innermost) {
    json_t *to = json_object();
    const char *platform = json_text(frame, "platform");
    const json_t *in_app = json_object_get(frame, "in_app");
    platform = platform[0] != '\0' ? platform : json_text(event, "platform");
    set_address(to, images, frame, innermost);
    set_function(to, frame, platform);
    set_place(to, frame);
    if (language_of(platform) != NULL) {
        json_object_set_new(to, "language", json_string(language_of(platform)));
    }
    if (json_is_boolean(in_app)) {
        json_object_set_new(to, "in_app", json_boolean(json_is_true(in_app)));
    }
    return to;
}

json_t *sentry_stack_frames(const json_t *event, const struct sentry_images *images,
                            const json_t *stacktrace) {
    const json_t *frames = json_object_get(stacktrace, "frames");
    json_t *to = json_array();
    size_t count = json_array_size(frames);
    for (size_t i = 0; i < count && i < FRAMES_MAX; i++) { /* Sentry's are outermost first */
        json_array_append_new(to, frame_of(event, images, json_array_get(frames, count - 1 - i), i == 0));
    }
    return to;
}

/* ELF's code id is the whole build-id; Mach-O's debug id is its UUID. */
static void set_build_id(json_t *module, const json_t *image) {
    char id[BUILD_ID_CHARS + 1];
    size_t n = 0;
    const char *text = json_text(image, "code_id");
    text = text[0] != '\0' ? text : json_text(image, "debug_id");
    for (; *text != '\0' && n < BUILD_ID_CHARS; text++) {
        if (isxdigit((unsigned char)*text)) {
            id[n++] = (char)tolower((unsigned char)*text);
        }
    }
    id[n] = '\0';
    if (n > 0) {
        json_object_set_new(module, "build_id", json_string(id));
    }
}

json_t *sentry_stack_modules(const json_t *event) {
    const json_t *images = images_of(event);
    json_t *modules = json_array();
    for (size_t i = 0; i < json_array_size(images) && i < SENTRY_IMAGES_MAX; i++) {
        const json_t *image = json_array_get(images, i);
        const char *path = json_text(image, "code_file");
        json_t *module = json_object();
        json_object_set_new(module, "path",
                            json_string(path[0] != '\0' ? path : json_text(image, "debug_file")));
        json_object_set_new(module, "base", address(address_of(image, "image_addr")));
        json_object_set_new(module, "size",
                            json_integer((json_int_t)(address_of(image, "image_size") & INT64_MAX)));
        set_build_id(module, image);
        json_array_append_new(modules, module);
    }
    return modules;
}
