// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';
import { against, factor, linesOf, rateBefore } from '../../src/pages/overview_rate.ts';

const HOUR = 3600000;
const row = (day, app, version, lost_s, used_ms) => ({ day, app, version, count: 1, total_ms: lost_s * 1000, used_ms });

test('a run of a minute does not flatten the others', () => {
  const { lines, left_out } = linesOf([row(1, 'shop', '1', 2, 10 * HOUR), row(2, 'shop', '1', 3, 10 * HOUR), row(2, 'new', '1', 20, 60000)], false);
  assert.equal(left_out, true);
  assert.deepEqual(lines.map((line) => [line.name, line.values]), [['shop 1', [0.2, 0.3]], ['new 1', [null, null]]]);
  assert.equal(Math.round(lines[1].all[1]), 1200, 'the table has it');
});

test('where all runs are short they are all drawn', () => {
  const { lines, left_out } = linesOf([row(1, 'demo', '1', 1, 60000), row(1, 'demo', '2', 1, 30000)], true);
  assert.equal(left_out, false);
  assert.deepEqual(lines.map((line) => [line.name, line.values]), [['1', [60]], ['2', [120]]]);
});

test('the names of lines', () => {
  const names = (series, one) => linesOf(series, one).lines.map((line) => line.name);
  assert.deepEqual(names([row(1, 'npm', '', 1, HOUR), row(1, 'shop', '', 1, HOUR), row(1, 'shop', '2.0', 1, HOUR)], false), ['npm', 'shop, other versions', 'shop 2.0']);
  assert.deepEqual(names([row(1, 'npm', '', 1, HOUR)], true), ['npm']);
  assert.deepEqual(names([row(1, 'npm', '1', 1, HOUR), row(1, 'npm', '2', 1, 0)], true), ['1'], 'without use there is no line');
});

test('a version is worse, better or the same', () => {
  assert.deepEqual([against(1.6, 0.64), against(0.64, 1.6), against(1, 1.05), against(null, 1), against(1, 0)], ['worse', 'better', 'same', '', 'worse']);
  assert.deepEqual([factor(1.6, 0.64), factor(0.64, 1.6), factor(20, 1), factor(1, 0), factor(1, 1)],
    ['2.5 times as much', '2.5 times as little', '20 times as much', '', 'the same']);
  const all = [['1', 1, HOUR, 10], ['2', 2, HOUR, 20], ['3', 3, 0, 30], ['4', 4, HOUR, 40]].map(([version, lost, used_ms, first_ms]) =>
    ({ app: 'shop', version, count: 1, total_ms: lost * 1000, used_ms, first_ms }));
  assert.deepEqual(all.map((one) => rateBefore(one, all)), [null, 1, 2, 2]);
});
