// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';
import { ReportModel } from '../../src/pictures/report.ts';

const FRAMES = [{ pc: '0x1', module: 1, offset: '0x10' }, { pc: '0x2', module: 0, function: 'resize', file: '/src/shop.c', line: 7, share: 0.5 }];
const REPORT = { duration_ns: 2e9, app: { executable: 'shop' }, modules: [{ path: '/opt/shop' }, { path: '/lib/libc.so.6' }], hot_stack: { frames: FRAMES } };

test('a frame without a name says where it is', () => {
  const [inner, outer] = new ReportModel(REPORT).hotStack;
  assert.deepEqual([inner.name, inner.place, inner.own], ['libc.so.6+0x10', 'libc.so.6', false]);
  assert.deepEqual([outer.name, outer.place, outer.own, outer.share], ['resize', 'shop.c:7', true, 0.5]);
});

test('a report without samples is its one stack', () => {
  const { nodes, totalMs } = new ReportModel(REPORT).tree;
  assert.deepEqual(nodes.map((n) => [n.name, n.parent, n.ms]), [['resize', -1, 2000], ['libc.so.6+0x10', 0, 2000]]);
  assert.equal(totalMs, 2000);
});

test('the tree of its samples', () => {
  const samples = { tree: { frames: [...FRAMES].reverse(), nodes: [{ frame: 0, parent: -1, time_ns: 2e9 }, { frame: 1, parent: 0, time_ns: 1e9 }, { frame: 9, parent: 7, time_ns: 1 }] } };
  const { nodes } = new ReportModel({ ...REPORT, samples }).tree;
  assert.deepEqual(nodes.map((n) => [n.name, n.parent, n.ms]), [['resize', -1, 2000], ['libc.so.6+0x10', 0, 1000], ['(no name)', -1, 1e-6]]);
});

test('marks of hangdog stand above the guess', () => {
  const marked = { ...REPORT, page: { own: true }, hot_stack: { frames: [{ ...FRAMES[0], own: true }, FRAMES[1]] } };
  assert.deepEqual(new ReportModel(marked).hotStack.map((f) => f.own), [true, false]);
});

test('whatever stands where a member should be, there is a model', () => {
  for (const other of [undefined, null, 7, 'x', [], {}, { modules: 7, threads: 'x', samples: [], hot_stack: { frames: { 0: 1 } }, app: null, cause: 3 }, { threads: [null, 7, { tid: 'x', stack: { frames: [null, 'x'] } }] }]) {
    const model = new ReportModel(other);
    assert.ok(Array.isArray(model.threads) && Array.isArray(model.hotStack) && Array.isArray(model.tree.nodes));
    assert.equal(model.durationMs, 0);
  }
});
