// SPDX-License-Identifier: MIT
//
// The program of test_script_frames.py: a function that computes and one that waits for a command, each in a timer.
'use strict';

const { execSync } = require('child_process');

let sum = 0;

function checksumOfNothing(rounds) {
  let x = sum;
  for (let i = 0; i < rounds; i++) {
    x = (x * 31 + i) % 1000003;
  }
  return x;
}

function onBusyTimer() {
  const end = Date.now() + 1200;
  while (Date.now() < end) {
    sum = checksumOfNothing(1e6);
  }
}

function runSlowCommand() {
  execSync('sleep 1');
}

let ticks = 0;
const timer = setInterval(() => {
  ticks++;
  if (ticks === 15) {
    onBusyTimer();
  } else if (ticks === 25) {
    runSlowCommand();
  } else if (ticks === 30) {
    clearInterval(timer);
  }
}, 100);
