/* SPDX-License-Identifier: MIT
 *
 * The script that an interpreter runs: people call the program by its script's name, not by the
 * interpreter's. Pure. Any thread.
 */
#ifndef HD_SCRIPT_ARGUMENT_H
#define HD_SCRIPT_ARGUMENT_H

#include <stdbool.h>

/* The file or module that `argv` names, for an interpreter that is known by its base name (python3.11, node,
 * ruby, perl, php, lua, sh, java -jar). Points into argv; NULL: another program, or no script (python3 -c).
 */
const char *hd_script_argument(char *const *argv);

/* By its base name, which may have a version. Its build-id tells nothing of the program that it runs. */
bool hd_script_is_interpreter(const char *program);

/* The interpreter is a shell: the script starts other programs, and has no version of an app. */
bool hd_script_is_shell(const char *program);

#endif
