/* SPDX-License-Identifier: MIT
 *
 * The settings of a watch, from the options that the runner wrote into the record. Ordinary code.
 */
#ifndef HD_ATTACH_SETTINGS_H
#define HD_ATTACH_SETTINGS_H

#include "record/record.h"
#include "watch/settings.h"

void hd_attach_settings(const struct hd_record_options *o, struct hd_settings *out);

#endif
