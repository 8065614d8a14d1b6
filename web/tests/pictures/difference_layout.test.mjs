// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';
import { difference, stepOf, tendency } from '../../src/pictures/difference_layout.ts';
import { readTree } from '../../src/pictures/tree.ts';

const node = (name, parent, ms) => ({ name, place: '', own: false, parent, ms });
const side = (label, per, nodes) => ({ label, per, tree: readTree({ nodes }) });

test('two trees are one, by path, for the same use', () => {
  const both = difference(side('1', 2, [node('main', -1, 100), node('load', 0, 60), node('old', 0, 40)]), side('2', 1, [node('main', -1, 100), node('load', 0, 30), node('new', 0, 70)]));
  const by = Object.fromEntries(both.tree.nodes.map((n, i) => [n.name, both.changes[i]]));
  assert.deepEqual(by, { main: { before: 50, after: 100 }, load: { before: 30, after: 30 }, old: { before: 20, after: 0 }, new: { before: 0, after: 70 } });
  assert.deepEqual([both.before, both.after, both.tree.totalMs], [50, 100, 75]);
  assert.equal(both.tree.nodes.find((n) => n.name === 'new').ms, 35);
});

test('each size of a change has its sign', () => {
  const signs = [[0, 5, '✚'], [5, 0, '✖'], [10, 30, '▲▲'], [10, 12, '▲'], [100, 101, ''], [12, 10, '▼'], [30, 10, '▼▼'], [0, 0, '']];
  for (const [before, after, mark] of signs) assert.equal(stepOf({ before, after }).mark, mark, `${before} to ${after}`);
  assert.equal(tendency({ before: 0, after: 0 }), 0);
});

test('nothing is divided by zero', () => {
  const both = difference(side('1', 0, []), side('2', 0, [node('main', -1, 4)]));
  assert.deepEqual(both.changes, [{ before: 0, after: 4 }]);
});
