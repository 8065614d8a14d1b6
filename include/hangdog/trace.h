/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Measures the time of each function, in a program that is built with -finstrument-functions and linked with
 * libhangdog-trace.
 *
 * The library counts and times each call. At exit it writes a file, which `hangdog show FILE` prints. The
 * program needs to call no function for that. docs/trace.md explains the output and the costs.
 */
#ifndef HANGDOG_TRACE_H
#define HANGDOG_TRACE_H

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Marks the end of the program's launch. Call it when the loop is idle for the first time. The file then also
 * has the time of each function during the launch. Only the first call counts. Any thread; async-signal-safe.
 */
#if defined(__GNUC__)
__attribute__((visibility("default"), no_instrument_function))
#endif
void hangdog_trace_launched(void);

#ifdef __cplusplus
}
#endif
#endif
