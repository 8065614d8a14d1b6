// SPDX-License-Identifier: MIT
//
// The program of test_node.py: one timer's callback for each step of its plan.
'use strict';

const { execSync } = require('child_process');
const { writeSync, openSync } = require('fs');

const truth = openSync(process.argv[2], 'w');
const plan = process.argv.slice(3);

function note(line) {
  writeSync(truth, JSON.stringify(line) + '\n');
}

function block(kind, seconds) {
  if (kind === 'child') {
    execSync('sleep ' + seconds);
    return;
  }
  const end = process.hrtime.bigint() + BigInt(Math.round(Number(seconds) * 1e9));
  while (process.hrtime.bigint() < end);
}

function timer(step, kind, seconds, next) {
  const begin = process.hrtime.bigint();
  note({ step, at: Number(begin) });
  block(kind, seconds);
  note({ step, at: Number(begin), ns: Number(process.hrtime.bigint() - begin) });
  setTimeout(next, 50);
}

// The loop wakes a few times before it idles in one piece.
function idle(step, seconds, next, times = 5) {
  if (times > 0) {
    setTimeout(() => idle(step, seconds, next, times - 1), 20);
    return;
  }
  note({ step, at: Number(process.hrtime.bigint()) });
  setTimeout(next, Number(seconds) * 1000 - 100);
}

function work(index) {
  if (index === plan.length) {
    console.error('the plan is done');
    process.exitCode = 3;
    return;
  }
  const step = plan[index];
  const [kind, seconds] = step.split(':');
  console.log('step ' + step);
  const next = () => work(index + 1);
  if (kind === 'idle') {
    idle(step, seconds, next);
  } else {
    setTimeout(() => timer(step, kind, seconds, next), 50);
  }
}

work(0);
