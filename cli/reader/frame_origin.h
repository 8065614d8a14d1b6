/* SPDX-License-Identifier: MIT
 *
 * Whose code a frame of a report is: the user's, a library's, an interpreter's, ours. Reports come from
 * anywhere: what is missing or of another type reads as NULL, 0 or empty.
 */
#ifndef CLI_FRAME_ORIGIN_H
#define CLI_FRAME_ORIGIN_H

#include <jansson.h>
#include <stdbool.h>

/* In the order in which a frame stands for a hang. JIT code with a name and of an unknown author counts as a
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

/* The user's: no library of the system's or of a language, no package, no interpreter, no runtime. */
bool report_frame_is_own(const json_t *report, const json_t *frame);
/* Native code of an interpreter. */
bool report_frame_is_of_interpreter(const json_t *report, const json_t *frame);
/* Of the library that hangdog run preloads: it passes the program's waits on. */
bool report_frame_is_ours(const json_t *report, const json_t *frame);
/* Inlined, instantiated or linked into a module of the user's, from a header of a library. */
bool report_frame_is_of_header(const json_t *frame);
/* The start of a program. A library without other names leaves no name but that one. */
bool report_frame_is_start(const json_t *frame);

/* The frame's module, NULL: none. Borrowed. */
const json_t *report_frame_module(const json_t *report, const json_t *frame);
/* The module is the program itself: by build-id, or without one by name. */
bool frame_is_program(const json_t *report, const json_t *module);
/* In a folder of the system's, or no path. */
bool frame_path_is_system(const char *path);
/* A package, or a well-known runtime, wherever it is. */
bool frame_module_is_library(const char *path);

/* Reports are of other machines from now on: no path of theirs is looked up on this one. Their sender could
 * learn which files are here, and each look-up takes time. Before the first thread. */
void frame_origin_set_elsewhere(void);
/* Of other machines, so of anyone. */
bool frame_origin_is_elsewhere(void);

/* "module+offset", the module by its file's name, or by the app's where that is a link to it. NULL when it
 * has none. Caller frees. */
char *report_frame_place(const json_t *report, const json_t *frame);

#endif
