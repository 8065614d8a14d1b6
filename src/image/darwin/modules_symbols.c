/* SPDX-License-Identifier: MIT
 *
 * Exported symbols of a module in memory. The tables of the last module are kept, since the caller asks one
 * module for many names. Worker: may run while a hang is on, no allocation.
 */
#include "image/macho/exports.h"
#include "image/modules.h"

static struct {
    const struct hd_modules *of;
    uint32_t resets;
    uint64_t header;
    int rc;
    struct hd_macho_tables tables;
} last;

uint64_t hd_module_symbol(struct hd_modules *m, uint32_t index, const char *name) {
    if (index >= m->count || m->module[index].gone) {
        return 0;
    }
    uint64_t header = m->module[index].header;
    if (last.of != m || last.resets != m->resets || last.header != header) {
        last.rc = hd_macho_tables_read(&m->memory, header, &last.tables);
        last.of = m;
        last.resets = m->resets;
        last.header = header;
    }
    return last.rc == 0 ? hd_macho_export(&m->memory, &last.tables, name) : 0;
}
