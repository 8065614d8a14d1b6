/* SPDX-License-Identifier: MIT
 *
 * Includes the system's struct hd_thread_files: what a target reads about its thread. Each system has the
 * same functions: hd_thread_files_open, hd_thread_files_close, hd_thread_files_state, and the functions for
 * the calling thread's own files.
 *
 * HD_FAKE_DARWIN: a test on Linux compiles the code for Darwin, over a fake of src/os/darwin/mach.h.
 */
#ifndef HD_CAPTURE_THREAD_FILES_H
#define HD_CAPTURE_THREAD_FILES_H

#if defined(__APPLE__) || defined(HD_FAKE_DARWIN)
#include "capture/darwin/thread_files.h"
#else
#include "capture/linux/thread_files.h"
#endif

#endif
