// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';
import { boxesOf, find, makeIndex, nextNode, nodeAt, viewOf } from '../../src/pictures/flame_layout.ts';
import { readTree } from '../../src/pictures/tree.ts';

const node = (name, parent, ms) => ({ name, place: '', own: false, parent, ms });
const TREE = readTree({ nodes: [node('main', -1, 100), node('load', 0, 20), node('resize', 0, 70), node('row', 2, 70), node('idle', -1, 100)] });
const INDEX = makeIndex(TREE);
const ALL = { from: 0, to: 1 };

test('callees are below their caller, the widest at the left', () => {
  assert.deepEqual(INDEX.rows.map((row) => [...row]), [[0, 4], [2, 1], [3]]);
  assert.deepEqual([INDEX.start[2], Math.round(INDEX.width[2] * 1000)], [0, 350]);
  assert.deepEqual(boxesOf(INDEX, 1, ALL, 200).map((b) => [b.node, Math.round(b.x), Math.round(b.width)]), [[2, 0, 70], [1, 70, 20]]);
});

test('callees that claim more time than their caller do not leave it', () => {
  const index = makeIndex(readTree({ nodes: [node('a', -1, 10), node('b', 0, 1e15), node('c', 0, 1e15), node('d', 1, 5)] }));
  assert.ok(index.start[2] + index.width[2] <= 1 + 1e-9);
  assert.equal(index.width[1], 0.5);
});

test('zoom: the node has the whole width, its callers too', () => {
  const view = viewOf(INDEX, 1);
  assert.deepEqual(boxesOf(INDEX, 1, view, 300).map((b) => [b.node, Math.round(b.x), Math.round(b.width)]), [[1, 0, 300]]);
  assert.deepEqual(boxesOf(INDEX, 0, view, 300).map((b) => [b.node, b.x, Math.round(b.width)]), [[0, 0, 300]]);
  assert.deepEqual(viewOf(INDEX, -1), ALL);
});

test('small boxes are merged: no more of them than pixels, and none is lost', () => {
  const many = readTree({ nodes: [node('main', -1, 10000), ...Array.from({ length: 10000 }, (_, i) => node(`f${i}`, 0, 1))] });
  const boxes = boxesOf(makeIndex(many), 1, ALL, 800);
  assert.ok(boxes.length <= 800, `${boxes.length} boxes`);
  assert.equal(boxes.reduce((sum, b) => sum + b.count, 0), 10000);
  assert.ok(Math.abs(boxes.reduce((sum, b) => sum + b.width, 0) - 800) < 1);
});

test('a box under the pointer', () => {
  assert.equal(nodeAt(INDEX, 1, ALL, 0.1), 2);
  assert.equal(nodeAt(INDEX, 1, ALL, 0.4), 1);
  assert.equal(nodeAt(INDEX, 1, ALL, 0.47), -1); // main itself
  assert.equal(nodeAt(INDEX, 9, ALL, 0.5), -1);
});

test('keys walk', () => {
  assert.equal(nextNode(INDEX, -1, 'first', ALL), 0);
  assert.equal(nextNode(INDEX, 0, 'in', ALL), 2);
  assert.equal(nextNode(INDEX, 2, 'right', ALL), 1);
  assert.equal(nextNode(INDEX, 1, 'right', ALL), 1);
  assert.equal(nextNode(INDEX, 2, 'right', viewOf(INDEX, 2)), 2); // out of the view
  assert.equal(nextNode(INDEX, 3, 'out', ALL), 2);
  assert.equal(nextNode(INDEX, 0, 'last', ALL), 4);
  assert.equal(nextNode(INDEX, 3, 'in', ALL), 3);
});

test('search counts time once', () => {
  const found = find(TREE, ' R ');
  assert.deepEqual([...found.nodes], [0, 0, 1, 1, 0]);
  assert.deepEqual([found.count, found.ms], [2, 70]);
  assert.equal(find(TREE, '').count, 0);
});

test('ten thousand nodes are laid out within a frame', () => {
  const nodes = [node('main', -1, 1e6)];
  for (let i = 1; i < 10000; i += 1) nodes.push(node(`f${i}`, Math.floor((i - 1) / 3), 1e6 / 3 ** Math.floor(Math.log(2 * i + 1) / Math.log(3))));
  const tree = readTree({ nodes });
  const index = makeIndex(tree);
  const start = performance.now();
  for (let frame = 0; frame < 20; frame += 1) for (let depth = 0; depth < index.rows.length; depth += 1) boxesOf(index, depth, ALL, 1200);
  const each = (performance.now() - start) / 20;
  assert.ok(each < 16, `${each} ms a frame`);
});
