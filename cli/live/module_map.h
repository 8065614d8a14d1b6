/* SPDX-License-Identifier: MIT
 *
 * The modules of another process: what its list of mappings says, and the ELF headers in its memory. Ordinary
 * code; the process may write anything there, and change it at any time.
 */
#ifndef CLI_LIVE_MODULE_MAP_H
#define CLI_LIVE_MODULE_MAP_H

#include "cli/live/process.h"
#include "image/modules.h"

struct mapped_file {
    uint64_t lo, hi;   /* of all its mappings in a row */
    uint64_t first_hi; /* of the first */
    uint64_t last_offset;
    uint64_t inode;
    uint32_t device_major, device_minor;
    bool is_code;    /* one of them may be executed */
    bool is_deleted; /* its name is gone, or another file's now */
    char *path;      /* without " (deleted)"; empty: memory of no file, that may be executed */
};

struct module_map {
    const struct live_process *process;
    uint64_t entry; /* of the program */
    size_t count, room;
    struct mapped_file *file; /* by address */
};

/* Reads the list. 0 or a negative errno value; free it in both cases. */
int module_map_read(struct module_map *map, const struct live_process *p);
void module_map_free(struct module_map *map);

/* Both have the same modules at the same places. */
bool module_map_has_files_of(const struct module_map *map, const struct module_map *other);

/* The file that is mapped at an address, NULL: none. */
const struct mapped_file *module_map_at(const struct module_map *map, uint64_t address);

/* An address in the C library that has the process's locks; 0: none is known. */
uint64_t module_map_libc(const struct module_map *map);

/* As hd_modules.find, by the map and by memory only. */
int module_map_find(struct hd_modules *m, uint64_t pc, struct hd_module *out, char *path, size_t path_bytes);

/* Makes `m` find modules by the map, which it needs from then on. */
void module_map_begin(struct module_map *map, struct hd_modules *m);

#endif
