// SPDX-License-Identifier: MIT
// libuv's pool with more work than threads: reads, hashes, name look-ups. No task takes 500 ms.
'use strict';
const fs = require('fs'), crypto = require('crypto'), dns = require('dns');
const until = Date.now() + 1000 * Number(process.argv[2]);
const work = [
  done => fs.readFile(process.execPath, done),
  done => crypto.pbkdf2('a', 'b', 20000, 32, 'sha256', done),
  done => dns.lookup('localhost', done),
  done => fs.readdir('/usr/lib', done),
];
function next(i) {
  if (Date.now() < until) {
    work[i % work.length](() => next(i + 1));
  }
}
for (let i = 0; i < 12; i++) {
  next(i);
}
