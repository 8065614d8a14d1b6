/* SPDX-License-Identifier: MIT
 *
 * The script that an interpreter runs: users call such a program by the name of the script. Pure. Any thread.
 */
#ifndef HD_SCRIPT_ARGUMENT_H
#define HD_SCRIPT_ARGUMENT_H

#include <stdbool.h>

/* The file or module that an interpreter runs, as `argv` names it. The program's base name says that it is an
 * interpreter: python3.11, node, ruby, perl, php, lua, sh, java -jar. Points into argv. NULL: the program is
 * another one, or runs no script (python3 -c). */
const char *hd_script_argument(char *const *argv);

/* The base name, with or without a version, is that of an interpreter. The build-id of an interpreter does
 * not identify the script that runs. */
bool hd_script_is_interpreter(const char *program);

/* The interpreter is a shell: the script starts other programs, and has no version of an app. */
bool hd_script_is_shell(const char *program);

#endif
