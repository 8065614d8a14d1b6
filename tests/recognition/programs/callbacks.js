// SPDX-License-Identifier: MIT
//
// Node: timers that block in every usual way.
const fs = require('fs');
const child = require('child_process');
const [, , fifo, early] = process.argv;
const file = fs.openSync(process.env.HANGDOG_MARKS, 'a');

const write = text => fs.writeSync(file, `${process.hrtime.bigint()} ${text}\n`);

function blocked(name, run) {
  write(`begin busy ${name}`);
  run();
  write(`end busy ${name}`);
}

function compute() {
  const until = Date.now() + 400;
  while (Date.now() < until);
}

function readFifo() {
  child.spawn('sh', ['-c', `sleep 0.4; echo x > ${fifo}`], {stdio: 'ignore'});
  fs.readFileSync(fifo);
}

const callbacks = [
  ['execSync', () => child.execSync('sleep 0.4')],
  ['spawnSync', () => child.spawnSync('sleep', ['0.5'])],
  ['fifo', readFifo],
  ['execSync', () => child.execSync('sleep 0.4')],
  ['atomics', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400)],
  ['computation', compute],
  ['spawnSync-io', () => child.spawnSync('sh', ['-c', 'cat; sleep 0.3'], {input: 'x'.repeat(100000)})],
  ['spawnSync', () => child.spawnSync('sleep', ['0.5'])],
];

function next(i) {
  if (i === callbacks.length) {
    write('from over -');
    return;
  }
  blocked(...callbacks[i]);
  let ticks = 0;
  const timer = setInterval(() => {
    if (++ticks === 3) {
      clearInterval(timer);
      next(i + 1);
    }
  }, early && i === 0 ? 60 : 110);
}

if (early) {
  blocked('execSync-start', () => child.execSync('sleep 0.3'));
}
write('from idle -');
setTimeout(next, early ? 80 : 400, 0);
