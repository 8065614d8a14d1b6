/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Method time: for a program that is built with -finstrument-functions and linked with libhangdog-trace.
 *
 * The library counts and times each call from the start on, and writes a file at the exit, which
 * `hangdog show FILE` prints. docs/trace.md says how. No call is needed.
 */
#ifndef HANGDOG_TRACE_H
#define HANGDOG_TRACE_H

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The program has launched: its loop is idle for the first time. The file then has the launch's part of each
 * function's time. The first call counts. Any thread; async-signal-safe.
 */
#if defined(__GNUC__)
__attribute__((visibility("default"), no_instrument_function))
#endif
void hangdog_trace_launched(void);

#ifdef __cplusplus
}
#endif
#endif
