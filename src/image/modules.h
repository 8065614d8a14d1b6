/* SPDX-License-Identifier: MIT
 * The loaded modules: path, build-id, address range, load bias, unwind tables. Found without the loader's
 * lock (_dl_find_object). Reads may fail: a module that is unloaded at the same time gives an error, never a
 * fault. No allocation. Worker only.
 */
#ifndef HD_MODULES_H
#define HD_MODULES_H

#include "base/memory.h"

enum hd_image_format {
    HD_IMAGE_ELF,
    HD_IMAGE_MACHO, /* build_id is the UUID, [lo, hi) the segment __TEXT */
};

struct hd_module {
    uint64_t lo, hi;                 /* mapped range in memory */
    uint64_t bias;                   /* memory address minus address in the file's own numbering */
    uint64_t header;                 /* address of the ELF or Mach-O header in memory */
    uint64_t eh_frame_hdr;           /* address in memory, 0: none */
    uint64_t eh_frame, eh_frame_end; /* without a header: the section's addresses, 0: not known */
    uint64_t entry;                  /* where the kernel or the loader starts the file, 0: not known */
    uint64_t handle; /* the loader's own record; another one at the same place is another module */
    uint32_t path;   /* offset into the path arena */
    uint8_t build_id[HD_BUILD_ID_MAX];
    uint8_t build_id_bytes; /* 0: none */
    uint8_t format;         /* enum hd_image_format */
    bool main_program;
    bool gone; /* the loader has unloaded it since */
};

#define HD_MODULES_MAX 384u
#define HD_MODULE_PATHS_BYTES (24u * 1024u)

/* Finds the module at pc. Fills lo, hi, eh_frame_hdr and handle, and reads bias and path through `memory`.
 * -ENOENT: the loader knows no module there (JIT code, stack). The live one uses _dl_find_object. */
struct hd_modules {
    struct hd_memory memory;
    /* `path` may be NULL: only the rest is wanted then. */
    int (*find)(struct hd_modules *m, uint64_t pc, struct hd_module *out, char *path, size_t path_bytes);
    void *find_ctx;
    /* Whether code may be run there, also in no module; NULL: that is not known. */
    bool (*is_code)(const struct hd_modules *m, uint64_t pc);
    uint32_t count;                 /* modules are appended and keep their index until hd_modules_reset */
    uint32_t gone;                  /* of these the loader has unloaded since */
    uint32_t resets;                /* how often some were forgotten, or went */
    uint32_t path_bytes;            /* used */
    uint32_t last;                  /* most recent hit */
    uint64_t lost;                  /* looked up in a module that there was no room for */
    uint16_t order[HD_MODULES_MAX]; /* indices by address, without those that are gone */
    struct hd_module module[HD_MODULES_MAX];
    char paths[HD_MODULE_PATHS_BYTES];
};

/* The live process, memory read through `mem_fd` (/proc/self/mem, kept open). */
void hd_modules_init_live(struct hd_modules *m, int mem_fd);

/* Forgets all modules; indices given before are void (flush the unwinder). */
void hd_modules_reset(struct hd_modules *m);

/* Index of the module that contains pc, or -ENOENT. Looks up a new module, and remembers it. */
int hd_modules_at(struct hd_modules *m, uint64_t pc);

/* The same for an address of an earlier time: also finds the last module that was there and is unloaded now.
 */
int hd_modules_at_or_gone(struct hd_modules *m, uint64_t pc);

/* True when every remembered module is still the loader's; else false (flush the unwinder). With `keep` those
 * that are gone are kept while there is room, else all is forgotten. */
bool hd_modules_still_valid(struct hd_modules *m, bool keep);

static inline const char *hd_module_path(const struct hd_modules *m, uint32_t index) {
    return m->paths + m->module[index].path;
}

/* The file of the main program, even if the loader was started to run the program. Truncated if too long;
 * empty if not known. */
void hd_image_program_path(char *path, size_t bytes);
/* Returns the index of the main program's module, which becomes known if it was not; -1: it cannot be found.
 */
int hd_modules_program(struct hd_modules *m);

/* True: a file of the system by its path, the vDSO, or the preload. The second function: a module with such a
 * file, but not the program itself, which may be in such a folder too. */
bool hd_module_path_is_system(const char *path);
bool hd_module_is_system(const struct hd_modules *m, uint32_t index);

/* Whether a library of the system's folders is the program's own: a folder of it has the program's name
 * (/usr/lib/x86_64-linux-gnu/gedit/libgedit-44.so). `program`: a file's name. No interpreter has any. */
bool hd_module_path_is_of_program(const char *path, const char *program);

/* Address in memory of an exported (dynamic) function or variable of module `index`, through its hash table,
 * 0: none. Of several versions the one that new programs get. */
uint64_t hd_module_symbol(struct hd_modules *m, uint32_t index, const char *name);

#endif
