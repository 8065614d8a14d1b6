/* SPDX-License-Identifier: MIT */
#include "cli/reporter/printer_names.h"

#include "cli/base/libexec.h"

struct symbolizer *printer_symbolizer(struct printer *r, int pid) {
    const struct printer_files *files = &r->options->files;
    if (files->begin != NULL) {
        files->begin(files->arg, pid);
    }
    if (r->symbolizer == NULL) {
        r->symbolizer = symbolizer_create(&(struct symbolizer_options){
            .worker = libexec_look_up(), .open = files->open, .open_arg = files->arg});
    }
    return r->symbolizer;
}
