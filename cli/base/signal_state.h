/* SPDX-License-Identifier: MIT
 *
 * Signal mask and handlers that this process inherited, and that the program must get. One thread.
 */
#ifndef CLI_SIGNAL_STATE_H
#define CLI_SIGNAL_STATE_H

/* Stores the state, and sets what the runner needs. To be called before anything is opened: the program's
 * closed descriptors among 0 to 2 must not be ours, and are closed again for it. */
void signal_state_save(void);

/* For a second process next to the program: signals to the process group are meant for the program. Faults
 * keep their effect. Ignored, not blocked, since blocked signals would stay queued. */
void signal_state_ignore_all(void);

/* Sets the stored state again, for exec, also of a command. */
void signal_state_restore(void);

#endif
