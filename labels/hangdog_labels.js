// SPDX-License-Identifier: MIT
//
// Labels for `hangdog run -- node ...`: call run('GET /cart', traceparent, work) where a request starts. `work` and what it
// awaits keep the label, and the report of a hang has it. Without `hangdog run` it calls `work`, and does nothing else.
'use strict';
const { AsyncLocalStorage, createHook } = require('node:async_hooks');
const path = require('node:path');

const storage = new AsyncLocalStorage();
let set = null;
let shown = false;

function show() {
  const label = storage.getStore();
  if (label || shown) {
    set(label ? label.text : '', label ? label.traceparent : '');
    shown = Boolean(label);
  }
}

exports.run = (text, traceparent, work) => (set ? storage.run({ text, traceparent }, () => {
  show();
  return work();
}) : work());

try {
  const addon = { exports: {} };
  process.dlopen(addon, path.join(__dirname, '@labels_folder@', 'hangdog_labels.node'));
  if (typeof addon.exports === 'function') {
    set = addon.exports;
    createHook({ before: show }).enable();
  }
} catch (error) {
  // The addon is not installed: no labels.
}
