/* SPDX-License-Identifier: MIT
 *
 * A process of Apple's systems as its memory shows it: the loader's list of images, and the images. `hd_mach`
 * reads it. A test loads and unloads images, and may run code of its own at each read.
 */
#ifndef IMAGE_PROCESS_H
#define IMAGE_PROCESS_H

#include "macho_image.h"
#include "os/darwin/mach.h"

#define PROCESS_IMAGES 400u
#define PROCESS_INFOS UINT64_C(0x7000000000)
#define PROCESS_ARRAY UINT64_C(0x7100000000)
#define PROCESS_STRINGS UINT64_C(0x7200000000)

struct process_infos { /* struct dyld_all_image_infos, its beginning */
    uint32_t version, count;
    uint64_t array, notification, flags, loader;
    uint64_t unused[18];
    uint64_t changed, loader_path;
};

struct process_image {
    uint64_t header, path, time;
};

struct image_process {
    struct process_infos infos;
    struct process_image array[PROCESS_IMAGES];
    char strings[PROCESS_IMAGES * 64];
    struct macho_image *image[PROCESS_IMAGES + 1]; /* by their base; the last is the loader's */
    uint32_t strings_bytes;
    int images_rc;                           /* of hd_mach.images */
    uint64_t reads, longest_read, questions; /* the last: calls of hd_mach.images */
    void (*at_read)(uint64_t addr);          /* called before a read; NULL: nothing */
};
extern struct image_process process;

/* An empty process, without the loader's own image. */
void process_init(void);

/* Adds an image at the end of the list, as dlopen does. */
void process_load(struct macho_image *image, const char *path);

/* Takes image number `i` off the list, as dlclose does, and unmaps it. */
void process_unload(uint32_t i);

void process_set_loader(struct macho_image *image, const char *path);

#endif
