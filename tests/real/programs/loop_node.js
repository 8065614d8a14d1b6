// SPDX-License-Identifier: MIT
//
// Node's loop with a timer, and a schedule as schedule.h has it.
'use strict';
const steps = process.argv.slice(2);

function blockInSleep(ms) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function blockInCompute(ms) {
    for (const end = performance.now() + ms; performance.now() < end;) { /* computes */ }
}

function blockInChild(ms) {
    require('child_process').execSync(`sleep ${ms / 1000}`);
}

function blockInRead() {
    // of a FIFO to which the program never writes
    require('child_process').execSync('mkfifo fifo');
    require('fs').readSync(require('fs').openSync('fifo', 'r+'), Buffer.alloc(1));
}

const kinds = { sleep: blockInSleep, compute: blockInCompute, child: blockInChild, read: blockInRead };

function onTimer() {
    if (steps.length === 0) {
        return;
    }
    const [kind, ms] = steps.shift().split(':');
    console.log('freezes');
    const begin = process.hrtime.bigint();
    kinds[kind](ms === 'forever' ? 1e9 : Number(ms));
    console.log(`froze ${process.hrtime.bigint() - begin}`);
    startTimer();
}

function startTimer() {
    if (steps.length > 0) {
        setTimeout(onTimer, Number(steps.shift()));
    }
}

startTimer();
