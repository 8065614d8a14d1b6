/* SPDX-License-Identifier: MIT */
#include "images.h"

#include <err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clocks.h"
#include "fixups.h"
#include "gate.h"
#include "import.h"
#include "interpose.h"
#include "thread.h"

#define IMAGES 128
#define FOLDERS 8

/* dyld's, as far as a reader of other processes or of its own may read it. */
struct shown_image {
    const void *header;
    const char *path;
    uint64_t date;
};
static struct {
    uint32_t version, count;
    const struct shown_image *images;
    void *notification;
    uint8_t detached, initialized, padding[6];
    const void *dyld;
    uint64_t unused[18];
    uint64_t changed; /* infoArrayChangeTimestamp, at 184 */
    const char *dyld_path;
    uint64_t reserved[24];
} infos = {.version = 15, .initialized = 1, .dyld_path = "/usr/lib/dyld"};
_Static_assert(offsetof(__typeof__(infos), changed) == 184, "the layout of dyld_all_image_infos");

static struct image all[IMAGES];
static _Atomic int used;
static struct shown_image shown[2][IMAGES];
static const char *folders[FOLDERS];
static int folder_count;
static bool started;
static int argument_count;
static char **arguments, **environment;
static pthread_mutex_t lock;

void images_add_folder(const char *folder) {
    if (folder_count < FOLDERS) {
        folders[folder_count++] = folder;
    }
}

bool images_has_code(uint64_t pc) {
    for (int i = 0; i < used; i++) {
        if (pc >= all[i].text_lo && pc < all[i].text_hi) {
            return true;
        }
    }
    return false;
}

struct image *images_of_address(uint64_t address) {
    for (int i = 0; i < used; i++) {
        if (address >= (uint64_t)all[i].base && address < (uint64_t)all[i].base + all[i].span) {
            return &all[i];
        }
    }
    return NULL;
}

struct image *images_of_tls_key(int key) {
    for (int i = 0; i < used; i++) {
        if (all[i].base && all[i].tls_key == key) {
            return &all[i];
        }
    }
    return NULL;
}

uint64_t images_infos(void) {
    return (uint64_t)&infos;
}

/* dyld sets the array to NULL while it changes the list, and no reader has a lock. */
static void show_list(void) {
    static int side;
    side = !side;
    uint32_t n = 0;
    atomic_store((_Atomic(const void *) *)&infos.images, NULL);
    for (int i = 0; i < used; i++) {
        if (all[i].base) {
            shown[side][n++] =
                (struct shown_image){all[i].base, all[i].shown ? all[i].shown : all[i].path, 0};
        }
    }
    infos.count = n;
    atomic_store((_Atomic uint64_t *)&infos.changed, clocks_uptime_ns());
    atomic_store((_Atomic(const void *) *)&infos.images, shown[side]);
}

uint64_t images_symbol(const char *name) {
    for (int i = 0; i < used; i++) {
        uint64_t at = all[i].base ? image_symbol(&all[i], name) : 0;
        if (at) {
            return at;
        }
    }
    const struct import *import = import_find(name);
    return import && (import->kind == IMPORT_DATA || import->kind == IMPORT_CODE) ? (uint64_t)import->at : 0;
}

static void missing(void) {
    errx(2, "a call of a function that the loader does not have: see its warnings above");
}

static uint64_t resolve(const char *name, bool weak, void *image) {
    uint64_t at = images_symbol(name);
    if (!at && !weak) {
        static bool quiet;
        quiet = quiet || getenv("APPLE_LOADER_QUIET");
        if (!quiet) {
            warnx("%s: there is no %s", ((struct image *)image)->name, name);
        }
        return (uint64_t)missing;
    }
    return interpose_address(at, image);
}

static struct image *find_by_name(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (int i = 0; i < used; i++) {
        if (all[i].base && !strcmp(all[i].name, name)) {
            return &all[i];
        }
    }
    return NULL;
}

static const char *find_file(const char *install_name, char path[512]) {
    const char *slash = strrchr(install_name, '/');
    for (int i = 0; i < folder_count; i++) {
        snprintf(path, 512, "%s/%s", folders[i], slash ? slash + 1 : install_name);
        if (access(path, R_OK) == 0) {
            return path;
        }
    }
    return NULL;
}

static void run_initialisers(const struct image *image) {
    for (uint64_t i = 0; i < image->init_count; i++) {
        gate_call_darwin(((const uint64_t *)image->init)[i], (uint64_t)argument_count, (uint64_t)arguments,
                         (uint64_t)environment, images_symbol("start"));
    }
}

static void set_tls_thunks(struct image *image) {
    const struct macho_segment *s = NULL;
    const uint8_t *c = image->file + sizeof(struct macho_header);
    const uint8_t *end = c + ((const struct macho_header *)image->file)->command_bytes;
    for (; c < end; c += ((const struct macho_command *)c)->bytes) {
        s = (const void *)c;
        const struct macho_section *section = (const void *)(s + 1);
        for (uint32_t i = 0; s->kind == LC_SEGMENT_64 && i < s->sections; i++) {
            if ((section[i].flags & 0xff) == S_THREAD_LOCAL_VARIABLES) {
                uint64_t *d = (uint64_t *)(section[i].address + image->slide);
                for (uint64_t n = section[i].size / 24; n > 0; n--, d += 3) {
                    d[0] = (uint64_t)gate_tls_thunk;
                    d[1] = (uint64_t)image->tls_key;
                }
            }
        }
    }
}

static void set_gate(const struct image *image) {
    uint64_t gate = image_symbol(image, "_fake_gate"), back = image_symbol(image, "_fake_return");
    if (gate && back) {
        *(uint64_t *)gate = (uint64_t)gate_entry;
        *(uint64_t *)back = (uint64_t)gate_return;
    }
}

static struct image *slot(void) {
    for (int i = 0; i < used; i++) {
        if (!all[i].base) {
            return &all[i];
        }
    }
    if (used == IMAGES) {
        errx(2, "more than %d images", IMAGES);
    }
    return &all[used++];
}

static struct image *load(const char *path) {
    struct image mapped;
    image_map(&mapped, path);
    for (int i = 0; i < mapped.need_count; i++) {
        char file[512];
        if (!find_by_name(mapped.needs[i]) && find_file(mapped.needs[i], file)) {
            load(file);
        }
    }
    struct image *image = slot();
    *image = mapped;
    image->name = image->path + (mapped.name - mapped.path);
    fixups_apply(image, resolve, image);
    interpose_add(image);
    set_tls_thunks(image);
    set_gate(image);
    image_protect(image);
    show_list();
    if (started) {
        run_initialisers(image);
    }
    return image;
}

struct image *images_load(const char *path) {
    char found[512];
    struct image *image = find_by_name(path);
    if (!image) {
        const char *file = access(path, R_OK) == 0 ? path : find_file(path, found);
        image = file ? load(file) : NULL;
    }
    if (image) {
        image->references++;
    }
    return image;
}

void images_load_inserted(void) {
    char path[512];
    const char *list = getenv("DYLD_INSERT_LIBRARIES");
    for (size_t n; list && *list; list += n + (list[n] == ':')) {
        n = strcspn(list, ":");
        snprintf(path, sizeof path, "%.*s", (int)n, list);
        if (!images_load(path)) {
            errx(2, "%s: no such library to insert", path);
        }
    }
}

void images_start(int argc, char **argv, char **env) {
    argument_count = argc;
    arguments = argv;
    environment = env;
    started = true;
    for (int i = 0; i < used; i++) {
        run_initialisers(&all[i]);
    }
}

/* ---- dyld's functions --------------------------------------------------------------------- */

static void *fake_dlopen(const char *path, int mode) {
    (void)mode;
    pthread_mutex_lock(&lock);
    void *image = path ? images_load(path) : (void *)-2;
    pthread_mutex_unlock(&lock);
    return image;
}

static int fake_dlclose(void *handle) {
    struct image *image = handle;
    pthread_mutex_lock(&lock);
    if (--image->references == 0) {
        struct image gone = *image;
        image->text_lo = image->text_hi = 0;
        image->base = NULL;
        show_list();
        image_unmap(&gone);
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

static void *fake_dlsym(void *handle, const char *name) {
    char underscored[256];
    snprintf(underscored, sizeof underscored, "_%s", name);
    bool everywhere = (intptr_t)handle >= -5 && (intptr_t)handle < 0;
    return (void *)(everywhere ? images_symbol(underscored) : image_symbol(handle, underscored));
}

struct dl_info {
    const char *path;
    void *base;
    const char *symbol;
    void *at;
};

static int fake_dladdr(const void *address, struct dl_info *out) {
    struct image *image = images_of_address((uint64_t)address);
    if (!image) {
        return 0;
    }
    uint64_t offset;
    const char *name = image_name_at(image, (uint64_t)address, &offset);
    *out = (struct dl_info){image->path, image->base, name + (name[0] == '_'),
                            (uint8_t *)(uintptr_t)address - offset};
    return 1;
}

static uint32_t fake_image_count(void) {
    return infos.count;
}

static const void *fake_image_header(uint32_t index) {
    return index < infos.count && infos.images ? infos.images[index].header : NULL;
}

static const char *fake_image_name(uint32_t index) {
    return index < infos.count && infos.images ? infos.images[index].path : NULL;
}

static intptr_t fake_image_slide(uint32_t index) {
    const struct image *image = images_of_address((uint64_t)fake_image_header(index));
    return image ? (intptr_t)image->slide : 0;
}

static int fake_executable_path(char *buffer, uint32_t *size) {
    for (int i = 0; i < used; i++) {
        if (all[i].entry) {
            return snprintf(buffer, *size, "%s", all[i].path) < (int)*size ? 0 : -1;
        }
    }
    return -1;
}

const struct import imports_of_dyld[] = {
    LIBRARY("dlopen", fake_dlopen),
    LIBRARY("dlclose", fake_dlclose),
    LIBRARY("dlsym", fake_dlsym),
    LIBRARY("dladdr", fake_dladdr),
    LIBRARY("_dyld_image_count", fake_image_count),
    LIBRARY("_dyld_get_image_header", fake_image_header),
    LIBRARY("_dyld_get_image_name", fake_image_name),
    LIBRARY("_dyld_get_image_vmaddr_slide", fake_image_slide),
    LIBRARY("_NSGetExecutablePath", fake_executable_path),
    {"__tlv_bootstrap", (void *)gate_tls_thunk, IMPORT_CODE, 0},
    {"dyld_stub_binder", (void *)missing, IMPORT_CODE, 0},
    IMPORT_END,
};
