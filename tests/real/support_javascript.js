// SPDX-License-Identifier: MIT
//
// The program of test_javascript.py: hangs in functions of every kind, one after the other. Before each hang it
// prints the stack that V8 itself gives, one JSON line a hang.
'use strict';

const { execSync } = require('child_process');
const fs = require('fs');

Error.stackTraceLimit = 50;

function block(kind) {
  const frames = new Error().stack.split('\n').slice(1).map((line) => line.trim());
  fs.writeSync(1, JSON.stringify({ kind, at: Date.now(), frames }) + '\n');
  execSync('sleep 0.8'); // one line below the Error: the test knows
}

function interpreted() {
  const here = 1;
  block('interpreted');
  return here;
}

class Shop {
  get price() {
    block('getter');
    return 1;
  }

  sell(n) {
    return n === 0 ? block('method') : this.sell(n - 1);
  }

  static open() {
    block('static');
  }
}

function* numbers() {
  yield 1;
  block('generator');
  yield 2;
}

async function afterAwait() {
  await null;
  block('async');
}

const arrow = () => {
  block('arrow');
};

const unicode = { grüße() { block('unicode'); } };

function inBuiltin() {
  [1].forEach(() => block('builtin'));
}

const evaluated = () => eval('(function fromEval() { block("eval"); })()');

function compute(rounds) {
  let x = 0;
  for (let i = 0; i < rounds; i++) {
    x = (x * 31 + i) % 1000003;
  }
  return x;
}

function optimized() {
  compute(1e6);
  compute(1e6);
  fs.writeSync(1, JSON.stringify({ kind: 'optimized', at: Date.now(), frames: [] }) + '\n');
  const end = Date.now() + 900;
  while (Date.now() < end) {
    compute(1e6);
  }
}

const hangs = [interpreted, () => new Shop().price, () => new Shop().sell(2), () => Shop.open(), () => [...numbers()],
  afterAwait, arrow, () => unicode.grüße(), inBuiltin, evaluated, optimized];
const server = require('net').createServer().listen(0, '127.0.0.1'); // keeps the loop's descriptors as a server's

let next = 0;
const timer = setInterval(() => {
  if (next === hangs.length) {
    clearInterval(timer);
    server.close();
    return;
  }
  hangs[next++]();
}, 200);
