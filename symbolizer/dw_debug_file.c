/* SPDX-License-Identifier: MIT
 *
 * Where libdwfl and libdw look for a module's separate debug files. Ordinary code.
 */
#include "symbolizer/dw.h"

#include <dwarf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opening what is neither a file nor a folder would wait for who writes to a named pipe, or start a
 * watchdog's timer. */
__attribute__((format(printf, 1, 2))) static bool may_be_opened(const char *format, ...) {
    char *path;
    struct stat st;
    va_list values;
    va_start(values, format);
    int n = vasprintf(&path, format, values);
    va_end(values);
    if (n < 0) {
        return false;
    }
    bool may = stat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode);
    free(path);
    return may;
}

static const char *base_of(const char *path) {
    const char *last = strrchr(path, '/');
    return last != NULL ? last + 1 : path;
}

/* True: every file may be opened that libdwfl would open for a link to `name`, or libdw for a link to a
 * shared file. A link to a shared file may start with any folders. A file for a build-id is searched only in
 * a folder of the system. */
static bool may_look_for(const char *file, const char *name) {
    const char *base = base_of(file);
    int folder = (int)(base - file);
    bool may = (name[0] != '/' || may_be_opened("%s", name)) && may_be_opened("%.*s%s", folder, file, name) &&
               may_be_opened("%.*s.debug/%s", folder, file, name) &&
               may_be_opened("%.*s.dwz/%s", folder, file, base_of(name));
    for (const char *at = file; may && at != NULL && at < base; at = strchr(at + 1, '/')) {
        may = may_be_opened("/usr/lib/debug%.*s%s", (int)(base - at), at, name);
    }
    return may;
}

/* Without a link the name is made of the file's own. */
static bool may_look(const char *file, const char *link) {
    char *made;
    if (link != NULL) {
        return may_look_for(file, link);
    }
    if (asprintf(&made, "%s.debug", base_of(file)) < 0) {
        return false;
    }
    bool may = may_look_for(file, made) && may_look_for(file, base_of(file));
    free(made);
    return may;
}

int dw_find_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, const char *file,
                       const char *link, GElf_Word crc, char **found) {
    struct module *m = *data;
    const char *named = file != NULL ? file : "";
    char *real = realpath(named, NULL); /* libdwfl also searches in the folder of the real path */
    bool may = may_look(named, link) && (real == NULL || may_look(real, link));
    free(real);
    if (!may) {
        m->odd_debug_file = true;
        return -1;
    }
    /* libdw asks the servers of the environment by itself. If it must not, it sees none; that of the process,
     * which programs inherit, stays as it is. */
    char *none[] = {NULL}, **given = environ;
    struct servers *servers = &m->symbolizer->servers;
    if (!servers_begin(servers, m->dwfl, m->symbolizer->until_ms)) {
        environ = none;
    }
    int fd = dwfl_standard_find_debuginfo(module, data, name, base, file, link, crc, found);
    environ = given;
    servers_end(servers, &m->unserved, m->path, fd >= 0);
    return fd;
}

bool dw_may_open_split(const struct module *m, Dwarf_Die *unit) {
    Dwarf_Attribute memory;
    const char *main_file, *debug_file, *name, *folder;
    if (dwarf_attr(unit, DW_AT_dwo_name, &memory) == NULL &&
        dwarf_attr(unit, DW_AT_GNU_dwo_name, &memory) == NULL) {
        return false;
    }
    name = dwarf_formstring(&memory);
    folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &memory));
    dwfl_module_info(m->module, NULL, NULL, NULL, NULL, NULL, &main_file, &debug_file);
    char *real = realpath(debug_file != NULL ? debug_file : main_file, NULL);
    if (name == NULL || real == NULL) {
        free(real);
        return false;
    }
    int folder_bytes = name[0] == '/' ? 0 : (int)(base_of(real) - real);
    bool may = may_be_opened("%s.dwp", real) && may_be_opened("%.*s%s", folder_bytes, real, name);
    if (name[0] != '/' && folder != NULL) {
        may = may && may_be_opened("%.*s%s/%s", folder[0] == '/' ? 0 : folder_bytes, real, folder, name);
    }
    free(real);
    return may;
}
