/* SPDX-License-Identifier: MIT
 *
 * A crash in a person's words. The codes are those of the kernel's siginfo (asm-generic/siginfo.h).
 */
#include "cli/render/render_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/demangle.h"

/* The demangler puts this text before the name of a type. */
#define TYPE_PREFIX "typeinfo name for "

static const struct {
    const char *signal;
    int code; /* 0: any other */
    const char *text;
} reasons[] = {
    {"SIGSEGV", 1, "there is no memory at"},
    {"SIGSEGV", 2, "the memory allows no such access at"},
    {"SIGSEGV", 0, "it accessed memory that it may not"},
    {"SIGBUS", 1, "an address that is not aligned:"},
    {"SIGBUS", 2, "the file or device behind the memory ends before"},
    {"SIGBUS", 0, "the memory could not be read"},
    {"SIGFPE", 1, "a whole number was divided by zero at"},
    {"SIGFPE", 0, "a calculation has no result"},
    {"SIGILL", 0, "an instruction that the CPU refuses"},
    {"SIGABRT", 0, "the program aborted itself"},
    {"SIGTRAP", 0, "a breakpoint or trap"},
};

const char *render_crash_signal(const json_t *report) {
    return render_is_kind(report, "crash") ? value_text(json_object_get(report, "crash"), "signal") : NULL;
}

/* A type as it was written. Caller frees; NULL: no memory. */
static char *type_name(const char *mangled) {
    char symbol[300];
    snprintf(symbol, sizeof symbol, "_ZTS%s", mangled);
    char *name = symbolizer_demangle(symbol);
    if (name == NULL || strncmp(name, TYPE_PREFIX, strlen(TYPE_PREFIX)) != 0) {
        free(name);
        return strdup(mangled);
    }
    memmove(name, name + strlen(TYPE_PREFIX), strlen(name + strlen(TYPE_PREFIX)) + 1);
    return name;
}

/* True: the report has an exception, and it is printed. */
static bool print_exception(const struct page *p, const json_t *crash) {
    const json_t *exception = json_object_get(crash, "exception");
    const char *type = value_text(exception, "type"), *what = value_text(exception, "what");
    char *name = type != NULL ? type_name(type) : NULL, *text = NULL;
    /* the name of an Objective-C exception is not mangled */
    const char *language = name != NULL && strcmp(name, type) != 0 ? "C++ " : "";
    bool printed = name != NULL && asprintf(&text, "uncaught %sexception, %s%s%s", language, name,
                                            what != NULL ? ": " : "", what != NULL ? what : "") >= 0;
    if (printed) {
        render_wrapped(p, "", "  why  ", RENDER_LABEL, text);
        free(text);
    }
    free(name);
    return printed;
}

void render_crash_why(const struct page *p) {
    char duration[RENDER_DURATION_BYTES], text[200];
    const json_t *crash = json_object_get(p->report, "crash");
    const char *signal = render_crash_signal(p->report), *address = value_text(crash, "address");
    int64_t code = value_signed(crash, "code"), hung_ns = value_int(p->report, "duration_ns");
    if (signal == NULL) {
        return;
    }
    bool printed = print_exception(p, crash);
    for (size_t i = 0; !printed && i < sizeof reasons / sizeof reasons[0]; i++) {
        if (strcmp(signal, reasons[i].signal) != 0 || (reasons[i].code != 0 && reasons[i].code != code)) {
            continue;
        }
        snprintf(text, sizeof text, "%s: %s%s%s%s", signal, reasons[i].text,
                 reasons[i].code != 0 && address != NULL ? " " : "",
                 reasons[i].code != 0 && address != NULL ? address : "",
                 code <= 0 && strcmp(signal, "SIGABRT") != 0 ? " (a process sent the signal)" : "");
        render_wrapped(p, "", "  why  ", RENDER_LABEL, text);
        break;
    }
    if (hung_ns > 0) {
        snprintf(text, sizeof text, "its loop had hung for %s", render_duration(duration, hung_ns));
        render_wrapped(p, "", "  and  ", RENDER_LABEL, text);
    }
}
