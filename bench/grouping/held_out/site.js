// SPDX-License-Identifier: MIT
//
// The site: promises, classes and closures of Node. Each request is a bug. Two by one function of Node's: login,
// signup. usage: site.js REQUEST
'use strict';

const { pbkdf2Sync } = require('crypto');
const { gzipSync } = require('zlib');

const BUG_MS = 240;
let deadline = 0;
let sink = 0;
// MORE

const over = () => Date.now() >= deadline;

function checkPassword(word) {
    return pbkdf2Sync(word, 'salt', 3000, 32, 'sha256')[0];
}

function hashPassword(word) {
    return pbkdf2Sync(word, 'pepper', 3000, 32, 'sha256')[1];
}

async function onLogin() {
    while (!over()) sink += checkPassword('a word');
}

async function onSignup() {
    while (!over()) sink ^= hashPassword('a new word');
}

// MORE

class Node {
    constructor(depth) {
        this.depth = depth;
        this.children = depth > 0 ? [new Node(depth - 1), new Node(depth - 1), new Node(depth - 1)] : [];
    }

    render(indent) {
        let text = ' '.repeat(indent) + '<li>' + this.depth;
        for (const child of this.children) text += child.render(indent + 1);
        return text;
    }
}

function renderPage() {
    const root = new Node(7);
    while (!over()) sink += root.render(0).length;
}

async function onPage() {
    await Promise.resolve();
    renderPage();
}

// MORE

function rankResults(count) {
    const results = Array.from({ length: count }, (_, i) => ({ text: 'result ' + ((i * 7919) % count) }));
    const weigh = (text) => {
        let sum = 0;
        for (let i = 0; i < 60; i++) sum = (sum * 31 + text.charCodeAt(i % text.length)) % 65521;
        return sum;
    };
    while (!over()) {
        const sorted = results.slice().sort((a, b) => weigh(a.text) - weigh(b.text));
        sink += sorted[0].text.length;
    }
}

async function onSearch() {
    rankResults(300);
}

// MORE

function cloneCart(cart) {
    return JSON.parse(JSON.stringify(cart));
}

async function onCart() {
    const cart = Array.from({ length: 500 }, (_, i) => ({ item: i, tags: ['a', 'b', { c: i }] }));
    while (!over()) sink += cloneCart(cart).length;
}

function waitForWorker(cell, ms) {
    Atomics.wait(cell, 0, 0, ms);
}

async function onWait() {
    waitForWorker(new Int32Array(new SharedArrayBuffer(4)), BUG_MS);
}

function packArchive(bytes) {
    return gzipSync(bytes, { level: 9 }).length;
}

async function onArchive() {
    const bytes = Buffer.alloc(200000, 'some text of an archive, and more of it');
    while (!over()) sink += packArchive(bytes);
}

const requests = {
    login: onLogin, signup: onSignup, page: onPage, search: onSearch, cart: onCart, wait: onWait, archive: onArchive,
};
let turns = 0;
const timer = setInterval(() => {
    if (++turns === 12) {
        deadline = Date.now() + BUG_MS;
        requests[process.argv[2]]();
    }
    if (turns === 30) clearInterval(timer);
}, 10);
