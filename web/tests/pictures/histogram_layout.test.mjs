// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';
import { barsOf, medianBin, readBins, ticks } from '../../src/pictures/histogram_layout.ts';

test('steps become bins, with the empty ones between', () => {
  const bins = readBins([{ step: 10, count: 3 }, { step: 8, count: 1 }]);
  assert.deepEqual(bins, [{ from: 256, to: 512, count: 1 }, { from: 512, to: 1024, count: 0 }, { from: 1024, to: 2048, count: 3 }]);
  assert.equal(medianBin(bins), 2);
});

test('a small count is seen beside a large one', () => {
  const bars = barsOf(readBins([{ step: 8, count: 1 }, { step: 9, count: 1e9 }, { step: 11, count: 5 }]), 400);
  assert.deepEqual(bars.map((b) => [b.x, b.width, b.height]), [[0, 100, 0.02], [100, 100, 1], [200, 100, 0], [300, 100, 0.02]]);
});

test('the axis has powers of ten, or the edges of few bars', () => {
  assert.deepEqual(ticks(readBins([{ step: 8, count: 1 }, { step: 13, count: 1 }]), 600).map((p) => p.ms), [1000, 10000]);
  assert.deepEqual(ticks(readBins([{ step: 10, count: 4 }]), 600), [{ ms: 1024, x: 0 }, { ms: 2048, x: 600 }]);
  assert.deepEqual(ticks(readBins([{ step: 8, count: 1 }, { step: 9, count: 1 }]), 600).map((p) => p.x), [0, 300, 600]);
  assert.deepEqual(ticks([], 600), []);
});

test('hostile answers', () => {
  for (const other of [undefined, null, 7, {}, [null, 3, { step: 1e9, count: 1 }, { step: 'x', count: 1 }, { step: 3, count: -1 }, { step: 3, count: NaN }]]) assert.deepEqual(readBins(other), []);
  assert.equal(medianBin([]), -1);
});
