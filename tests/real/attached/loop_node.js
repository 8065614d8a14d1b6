// SPDX-License-Identifier: MIT
//
// Node's loop. Requests are those of requests.h.
'use strict';
const fs = require('fs');

function compute(ms) {
    for (const end = performance.now() + ms; performance.now() < end;) { /* computes */ }
}

function block(ms) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

process.stdin.on('data', (data) => {
    const [kind, ms] = data.toString().split(' ');
    if (ms === undefined) {
        fs.writeSync(1, 'interrupted 0\n');
        process.exit(0);
    }
    const start = process.hrtime.bigint();
    (kind === 'cpu' ? compute : block)(Number(ms));
    fs.writeSync(1, `stall ${kind} ${start} ${process.hrtime.bigint()}\n`);
});
if (process.argv[2] !== '0') {
    setInterval(() => { /* ticks */ }, Number(process.argv[2]));
}
fs.writeSync(1, 'ready\n');
