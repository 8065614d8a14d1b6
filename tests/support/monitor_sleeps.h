/* SPDX-License-Identifier: MIT
 *
 * For tests of Hangdog's cost at rest: how often its monitor has slept so far.
 */
#ifndef TEST_MONITOR_SLEEPS_H
#define TEST_MONITOR_SLEEPS_H

long monitor_sleeps(void);

#endif
