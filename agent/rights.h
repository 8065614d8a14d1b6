/* SPDX-License-Identifier: MIT
 *
 * The rights of the agent. Ordinary code, before any other thread.
 */
#ifndef AGENT_RIGHTS_H
#define AGENT_RIGHTS_H

/* Drops all capabilities but those to read other processes (CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE,
 * CAP_DAC_READ_SEARCH) and the one to give a report to its program's user (CAP_CHOWN). An exec brings none
 * back. 0, or an errno value. */
int rights_drop(void);

#endif
