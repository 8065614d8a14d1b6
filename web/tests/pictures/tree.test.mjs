// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';
import { functionTimes, invert, readTree, selfTimes } from '../../src/pictures/tree.ts';

const flat = (name, parent, ms, own = false) => ({ name, place: `${name}.c:1`, own, parent, ms });
const SHOP = { total_ms: 100, nodes: [flat('main', -1, 100), flat('resize', 0, 70, true), flat('memcpy', 1, 50), flat('load', 0, 20, true), flat('memcpy', 3, 20)] };

test('a list and a nested tree are the same', () => {
  const leaf = (name, ms, own, children = []) => ({ name, file: `/src/${name}.c`, line: 1, own, ms, children });
  const nested = { root: leaf('main', 100, false, [leaf('load', 20, true, [leaf('memcpy', 20, false)]), leaf('resize', 70, true, [leaf('memcpy', 50, false)])]) };
  const sorted = (tree) => functionTimes(tree);
  assert.deepEqual(sorted(readTree(nested)), sorted(readTree(SHOP)));
  assert.equal(readTree({ root: { name: '', ms: 100, children: nested.root.children } }).totalMs, 90);
});

test('hostile trees are read, too', () => {
  const { nodes, totalMs } = readTree({ nodes: [flat('a', 5, 1e300), flat('b', 1, -4), { name: 7, parent: 'x', ms: '9' }, null, 3] });
  assert.deepEqual(nodes.map((n) => n.parent), [-1, -1, -1, -1, -1]);
  assert.equal(nodes[2].name, '(no name)');
  assert.equal(totalMs, 8.64e15);
  for (const other of [undefined, null, 7, 'x', [], {}, { nodes: 3 }, { root: 3 }]) assert.deepEqual(readTree(other), { nodes: [], totalMs: 0 });
});

test('a stack of 10,000 frames needs no recursion', () => {
  let root = { name: 'f9999', ms: 1, children: [] };
  for (let i = 9998; i >= 0; i -= 1) root = { name: `f${i}`, ms: 1, children: [root] };
  const tree = readTree({ root });
  assert.equal(tree.nodes.length, 10000);
  assert.equal(invert(tree).nodes[0].name, 'f9999');
  assert.equal(functionTimes(tree).length, 10000);
});

test('time in the function itself', () => {
  assert.deepEqual([...selfTimes(readTree(SHOP))], [10, 20, 50, 0, 20]);
});

test('inverted: the innermost function is outermost, its callers share its time', () => {
  const { nodes, totalMs } = invert(readTree(SHOP));
  assert.equal(totalMs, 100);
  const at = nodes.findIndex((n) => n.name === 'memcpy' && n.parent === -1);
  assert.equal(nodes[at].ms, 70);
  assert.deepEqual(nodes.filter((n) => n.parent === at).map((n) => [n.name, n.ms]).sort(), [['load', 20], ['resize', 50]]);
});

test('a function that calls itself counts once', () => {
  const tree = readTree({ nodes: [flat('walk', -1, 10), flat('walk', 0, 9), flat('read', 1, 4), flat('walk', 2, 3)] });
  const walk = functionTimes(tree).find((f) => f.name === 'walk');
  assert.equal(walk.ms, 10);
  assert.equal(walk.selfMs, 1 + 5 + 3);
});
