// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';
import { DOINGS, doingOf, piecesOf, readTimeline, sampleAt, ticks, totals } from '../../src/pictures/timeline_layout.ts';

const sample = (at, ms, state, syscall, stack = 0) => ({ at_ns: at * 1e6, for_ns: ms * 1e6, state, syscall, stack });
const REPORT = { duration_ns: 100e6, cause: { kind: 'lock' }, samples: { timeline: [
  sample(0, 40, 'running'), sample(40, 10, 'blocked', 'futex', 1), sample(50, 10, 'blocked', 'futex', 1), sample(60, 20, 'uninterruptible', 'read'), sample(80, 20, 'running')] } };

test('what a thread did, by its state and call', () => {
  const known = [['running', 'read', 'disk', 'cpu'], ['runnable', '', '', 'starved'], ['stopped', '', '', 'stopped'], ['blocked', 'futex', 'cpu', 'lock'], ['blocked', 'recvfrom', '', 'network'],
    ['blocked', 'clock_nanosleep', '', 'sleep'], ['blocked', 'wait4', '', 'child'], ['uninterruptible', 'read', 'cpu', 'disk'], ['blocked', 'read', 'child', 'child'], ['blocked', 'ioctl', 'cpu', 'wait'],
    ['blocked', 'ioctl', '__proto__', 'wait'], ['blocked', 7, {}, 'wait'], [undefined, undefined, undefined, 'unknown'], ['uninterruptible', undefined, '', 'disk']];
  for (const [state, call, cause, doing] of known) assert.equal(doingOf(state, call, cause), doing, `${state} ${call} ${cause}`);
});

test('a report becomes lanes', () => {
  const timeline = readTimeline(REPORT);
  assert.deepEqual([...totals(timeline)], [['cpu', 60], ['lock', 20], ['disk', 20]]);
  assert.deepEqual(piecesOf(timeline, 'lock', 200), [{ x: 80, width: 40 }]);
  assert.deepEqual(piecesOf(timeline, 'cpu', 200), [{ x: 0, width: 80 }, { x: 160, width: 40 }]);
  assert.deepEqual(piecesOf(timeline, 'sleep', 200), []);
});

test('the sample at a time', () => {
  const timeline = readTimeline(REPORT);
  assert.deepEqual([-5, 0, 39.9, 40, 99, 1000].map((ms) => sampleAt(timeline, ms)), [0, 0, 0, 1, 4, 4]);
  assert.equal(sampleAt(readTimeline({}), 5), -1);
});

test('hostile timelines', () => {
  const timeline = readTimeline({ duration_ns: -1, samples: { timeline: [sample(50, 1e300, 'running'), sample(10, 5, 'running'), null, 7, { at_ns: 'x', stack: -3 }] } });
  assert.equal(timeline.at.length, 1); // the others go back in time
  assert.ok(Number.isFinite(timeline.endMs));
  assert.equal(readTimeline({ samples: { timeline: [{ stack: 2 ** 53 }] } }).stack[0], 2 ** 31 - 1);
});

test('a million samples are no more pieces than pixels', () => {
  const list = Array.from({ length: 1e6 }, (_, i) => sample(i, 1, i % 2 ? 'running' : 'blocked', 'futex'));
  const timeline = readTimeline({ samples: { timeline: list } });
  const start = performance.now();
  for (const doing of DOINGS) assert.ok(piecesOf(timeline, doing, 1000).length <= 1000);
  assert.ok(performance.now() - start < 1000);
});

test('round times on the axis', () => {
  assert.deepEqual(ticks(100, 5), [0, 20, 40, 60, 80, 100]);
  assert.deepEqual(ticks(0, 5), [0]);
  assert.ok(ticks(8.64e15, 6).length <= 7);
});
