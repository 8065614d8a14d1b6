// SPDX-License-Identifier: MIT
//
// The feed: callbacks of Node. usage: feed.js EVENT
'use strict';

const { execFileSync } = require('child_process');

const BUG_MS = 240;
let deadline = 0;
let sink = 0;
// MORE

const over = () => Date.now() >= deadline;

function score(item) {
    let sum = 0;
    for (let i = 0; i < 3000; i++) sum += (item * i) % 7;
    return sum;
}

function rankItems(count) {
    while (!over()) {
        for (let i = 0; i < count; i++) sink += score(i);
    }
}

function onRefresh() {
    rankItems(50);
}

// MORE

function matchTitle(title) {
    while (!over()) sink += /^(\w+\s?)*$/.test(title) ? 1 : 0;
}

function onFilter() {
    matchTitle('a title of many words that ends!');
}

// MORE

function runHook(seconds) {
    execFileSync('/bin/sleep', [seconds]);
}

function onHook() {
    runHook('0.24');
}

const handlers = { refresh: onRefresh, filter: onFilter, hook: onHook };
let turns = 0;
const timer = setInterval(() => {
    if (++turns === 12) {
        setImmediate(() => {
            deadline = Date.now() + BUG_MS;
            handlers[process.argv[2]]();
        });
    }
    if (turns === 30) clearInterval(timer);
}, 10);
