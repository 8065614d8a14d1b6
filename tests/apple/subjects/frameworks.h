/* SPDX-License-Identifier: MIT
 *
 * A stand-in for Apple's frameworks: notifications, and a small Objective-C runtime with a display link.
 */
#ifndef APPLE_SUBJECT_FRAMEWORKS_H
#define APPLE_SUBJECT_FRAMEWORKS_H

/* Posts the notification of that name. Returns the number of observers that were called. */
int frameworks_post(const char *name, const void *object);
/* Refreshes the display: calls the method of each link. Returns the number of links. */
int frameworks_refresh(double timestamp, double target_timestamp, double duration);
/* The references of all objects but classes. */
int frameworks_references(void);
/* From now on the process is an app of UIKit; else it is one of AppKit. */
void frameworks_use_uikit(int yes);
/* An object that says it is an app in the background. */
void *frameworks_background_app(void);

#endif
