/* SPDX-License-Identifier: MIT */
#include "image_process.h"

#include <errno.h>
#include <string.h>

struct image_process process;

static bool copy_from(uint64_t at, const void *bytes, size_t count, uint64_t addr, void *to, size_t n) {
    if (addr < at || addr - at > count || n > count - (addr - at)) {
        return false;
    }
    memcpy(to, (const uint8_t *)bytes + (addr - at), n);
    return true;
}

static int read_process(uint64_t addr, void *to, size_t n) {
    process.reads++;
    process.longest_read = n > process.longest_read ? n : process.longest_read;
    if (process.at_read != NULL) {
        process.at_read(addr);
    }
    if (copy_from(PROCESS_INFOS, &process.infos, sizeof process.infos, addr, to, n) ||
        copy_from(PROCESS_ARRAY, process.array, sizeof process.array, addr, to, n) ||
        copy_from(PROCESS_STRINGS, process.strings, sizeof process.strings, addr, to, n)) {
        return 0;
    }
    for (uint32_t i = 0; i <= PROCESS_IMAGES; i++) {
        const struct macho_image *m = process.image[i];
        if (m != NULL && copy_from(m->base, m->bytes, sizeof m->bytes, addr, to, n)) {
            return 0;
        }
    }
    return -EFAULT;
}

static int images(uint64_t *address) {
    process.questions++;
    *address = PROCESS_INFOS;
    return process.images_rc;
}

struct hd_mach_calls hd_mach = {.read = read_process, .images = images};

void process_init(void) {
    memset(&process, 0, sizeof process);
    process.infos.version = 17;
    process.infos.array = PROCESS_ARRAY;
    process.infos.changed = 1000;
}

static uint64_t add_string(const char *text) {
    uint64_t at = PROCESS_STRINGS + process.strings_bytes;
    memcpy(process.strings + process.strings_bytes, text, strlen(text) + 1);
    process.strings_bytes += (uint32_t)strlen(text) + 1;
    return at;
}

void process_load(struct macho_image *image, const char *path) {
    uint32_t i = process.infos.count++;
    process.image[i] = image;
    process.array[i] = (struct process_image){.header = image->base, .path = add_string(path)};
    process.infos.changed++;
}

void process_unload(uint32_t i) {
    uint32_t after = process.infos.count - i - 1;
    memmove(&process.array[i], &process.array[i + 1], after * sizeof process.array[0]);
    for (uint32_t k = i; k < i + after; k++) {
        process.image[k] = process.image[k + 1];
    }
    process.infos.count--;
    process.image[process.infos.count] = NULL;
    process.infos.changed++;
}

void process_set_loader(struct macho_image *image, const char *path) {
    process.image[PROCESS_IMAGES] = image;
    process.infos.loader = image->base;
    process.infos.loader_path = path != NULL ? add_string(path) : 0;
}
