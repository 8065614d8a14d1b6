/* SPDX-License-Identifier: MIT */
#ifndef CLI_COMMIT_H
#define CLI_COMMIT_H

/* The commit of the sources, or "". Each program has it, and a test has none: so a commit builds four
 * programs anew and no test. */
extern const char build_commit[] __attribute__((weak));

#endif
