/* SPDX-License-Identifier: MIT
 *
 * iOS encrypts each file by a class. Files of the two strictest classes cannot be used while the device is
 * locked: a load from a mapped one ends the process. A folder gives its class to its new files.
 * Worker; no allocation.
 */
#ifndef HD_OS_DARWIN_FILE_PROTECTION_H
#define HD_OS_DARWIN_FILE_PROTECTION_H

/* Gives the folder the class that is open from the first unlock after a boot on, if its class is stricter. */
void hd_file_protection_lower(int folder);

#endif
