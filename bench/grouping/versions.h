/* SPDX-License-Identifier: MIT
 *
 * What differs between the versions of the programs that bench/grouping.py builds: VERSION is 1 to 5. A
 * function that a bug's path has keeps its name; its arguments, its place and the names of other functions
 * change.
 */
#ifndef GROUPING_VERSIONS_H
#define GROUPING_VERSIONS_H

#ifndef VERSION
#define VERSION 1
#endif

#if VERSION >= 4 /* more arguments */
#define MORE , int more
#define PASS , more
#define GIVE , 4
#define USE(x) ((x) += (unsigned)more)
#else
#define MORE
#define PASS
#define GIVE
#define USE(x) ((void)(x))
#endif

#if VERSION == 3 || VERSION == 5 /* renamed helpers, which have little of a hang's time */
#define over is_time_up
#define sleep_ms pause_ms
#define later after_a_while
#endif

#define BUG_MS 240 /* how long a bug hangs */

#endif
