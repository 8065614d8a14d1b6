// SPDX-License-Identifier: MIT
//
// An HTTP server with a label for each request. What /slow awaits blocks the loop.
'use strict';
const http = require('node:http');
const { run } = require(process.argv[2]);

const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

async function compute() {
  await sleep(100);
  for (const end = Date.now() + 800; Date.now() < end;);
}

http.createServer((request, answer) => run(`${request.method} ${request.url}`, request.headers.traceparent, async () => {
  await (request.url === '/slow' ? Promise.all([compute(), sleep(50)]) : sleep(10));
  answer.end('done');
})).listen(Number(process.argv[3]), '127.0.0.1');
