/* SPDX-License-Identifier: MIT
 * The origin of a frame's code: the user, a library, an interpreter, Hangdog. Reports are hostile input: a
 * member that is missing or of another type reads as NULL, 0 or empty. Any thread after
 * frame_origin_set_elsewhere.
 */
#ifndef CLI_FRAME_ORIGIN_H
#define CLI_FRAME_ORIGIN_H

#include <jansson.h>
#include <stdbool.h>

/* The higher the value, the better a frame represents a hang. Named JIT code of unknown origin counts as a
 * script of the system. */
enum frame_origin {
    OF_SYSTEM,
    OF_HEADER,
    OF_LIBRARY,
    OF_PROGRAM,
    OF_SYSTEM_SCRIPT,
    OF_SCRIPT
};
enum frame_origin report_frame_origin(const json_t *report, const json_t *frame);

/* Code of the user: not of a system or language library, a package, an interpreter or a runtime. */
bool report_frame_is_own(const json_t *report, const json_t *frame);
/* Native code of an interpreter. */
bool report_frame_is_of_interpreter(const json_t *report, const json_t *frame);
/* A frame of the preload, which wraps the program's waits. */
bool report_frame_is_ours(const json_t *report, const json_t *frame);
/* Code of a library's header, inlined or instantiated in a module of the user. */
bool report_frame_is_of_header(const json_t *frame);
/* The start function of a program. A library without other symbols may show this name for all code. */
bool report_frame_is_start(const json_t *frame);

/* The frame's module, NULL: none. Borrowed. */
const json_t *report_frame_module(const json_t *report, const json_t *frame);
/* The module is the program itself: by build-id, or without one by name. */
bool frame_is_program(const json_t *report, const json_t *module);
/* True: a folder of the system, or no path. */
bool frame_path_is_system(const char *path);
/* A package, or a well-known runtime, wherever it is. */
bool frame_module_is_library(const char *path);

/* From now on reports come from other machines, and no path of a report is looked up here. A sender could
 * otherwise learn which files exist, and look-ups take time. Call before the first thread starts. */
void frame_origin_set_elsewhere(void);
/* True: reports come from other machines, and are hostile input. */
bool frame_origin_is_elsewhere(void);

/* "module+offset", the module by its file's name, or by the app's where that is a link to it. NULL when it
 * has none. Caller frees. */
char *report_frame_place(const json_t *report, const json_t *frame);

#endif
