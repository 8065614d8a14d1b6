/* SPDX-License-Identifier: MIT
 *
 * What the program is to have of signals, as this process was started with it. One thread.
 */
#ifndef CLI_SIGNAL_STATE_H
#define CLI_SIGNAL_STATE_H

/* Stores the state, and sets what the runner needs. To be called before anything is opened: the program's
 * closed descriptors among 0 to 2 must not be ours, and are closed again for it. */
void signal_state_save(void);

/* For a process beside the program: signals of the process group are the program's. Faults keep their
 * meaning. Blocked instead, they would stay queued. */
void signal_state_ignore_all(void);

/* Sets the stored state again, for exec, also of a command. */
void signal_state_restore(void);

#endif
