/* SPDX-License-Identifier: MIT */
#include "image/file_symbol.h"

#include <fcntl.h>
#include <string.h>

#include "image/arch/macho_cpu.h"
#include "image/macho/macho_file.h"
#include "image/macho/symbols.h"
#include "os/os.h"

#define NAME_MAX_BYTES 256u

static int read_file(void *ctx, uint64_t addr, void *dst, size_t n) {
    return hd_os.pread((int)(intptr_t)ctx, dst, n, addr) == (long)n ? 0 : -1;
}

static uint64_t find(const struct hd_memory *file, const char *symbol) {
    struct hd_macho_slices slices;
    struct hd_macho_file image;
    struct hd_macho_found found;
    /* The reads say where the file ends. */
    if (hd_macho_slices_read(file, INT64_MAX, &slices) != 0) {
        return 0;
    }
    const struct hd_macho_slice *slice = hd_macho_slice_of(&slices, HD_MACHO_CPU_BUILD);
    if (slice == NULL || hd_macho_file_init(&image, file, slice) != 0 ||
        !hd_macho_symbol_named(&image.memory, &image.tables, symbol, &found)) {
        return 0;
    }
    return found.address;
}

uint64_t hd_file_symbol(const char *path, const char *name) {
    char symbol[NAME_MAX_BYTES] = "_";
    size_t length = strlen(name);
    if (length == 0 || length + 2 > sizeof symbol) {
        return 0;
    }
    memcpy(symbol + 1, name, length + 1);
    int fd = hd_os.open_at(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0) {
        return 0;
    }
    struct hd_memory file = {.read = read_file, .ctx = (void *)(intptr_t)fd};
    uint64_t address = find(&file, symbol);
    hd_os_close(fd);
    return address;
}
