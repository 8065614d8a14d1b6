// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';
import { cleanName, cleanNumber, duration, fileName, fitted, percent, visibleText } from '../../src/pictures/text.ts';

test('characters that nobody sees become visible', () => {
  assert.equal(cleanName('a\u202eb\u0000c\u001b[1m\u2028\u200b\ufeff'), 'a\\u{202e}b\\u{0}c\\u{1b}[1m\\u{2028}\\u{200b}\\u{feff}');
  assert.equal(cleanName('half \ud83d of \udc4d one 👍'), 'half \\u{d83d} of \\u{dc4d} one 👍');
  assert.equal(cleanName('дом مرحبا <b>'), 'дом مرحبا <b>');
  assert.equal(cleanName('x'.repeat(1000), 10), `${'x'.repeat(10)}…`);
  for (const other of [undefined, null, 7, {}, ['a']]) assert.equal(cleanName(other), '');
});

test('lines of a text stay', () => {
  assert.equal(visibleText('a\n\tb\r\u202e'), 'a\n\tb\\u{d}\\u{202e}');
});

test('numbers of a report are made usable', () => {
  for (const other of [undefined, null, '7', NaN, -1, -Infinity, {}]) assert.equal(cleanNumber(other), 0);
  assert.equal(cleanNumber(12.5), 12.5);
  assert.equal(cleanNumber(1e308), 8.64e15);
  assert.equal(cleanNumber(Infinity), 8.64e15);
});

test('durations as people read them', () => {
  const words = [[0, '0 ms'], [NaN, '0 ms'], [0.4, '0.4 ms'], [1.26, '1.3 ms'], [12.4, '12 ms'], [999.4, '999 ms'], [999.6, '1.0 s'], [1500, '1.5 s'], [200000, '3 min 20 s'],
    [7500000, '2 h 05 min'], [40 * 86400000, '40 days'], [8.64e15, '100,000,000 days']];
  for (const [ms, text] of words) assert.equal(duration(ms), text);
});

test('parts of a whole', () => {
  assert.equal(percent(1, 3), '33 %');
  assert.equal(percent(1, 300), '0.3 %');
  assert.equal(percent(1, 1e6), 'under 0.1 %');
  assert.equal(percent(5, 3), '100 %');
  assert.equal(percent(5, 0), '0 %');
});

test('the end of a long name stays', () => {
  assert.equal(fitted('ns::decode_row', 40), 'ns::decode_row');
  assert.equal(fitted('ns::decode_row', 11), '…decode_row');
  assert.equal(fitted('ns::decode_row', 2), '');
});

test('a file has its folder where its name says nothing', () => {
  assert.equal(fileName('/usr/lib/python3/dist-packages/requests/__init__.py'), 'requests/__init__.py');
  assert.equal(fileName('/app/lib/index.mjs'), 'lib/index.mjs');
  assert.equal(fileName('/app/lib/my_index.js'), 'my_index.js');
  assert.equal(fileName('/index.js'), 'index.js');
  assert.equal(fileName(7), '');
});
