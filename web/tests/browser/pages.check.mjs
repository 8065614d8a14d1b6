// SPDX-License-Identifier: MIT
//
// What a person finds on each page.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { close, end, open, settled, start, text } from './browser.mjs';

before(start);
after(end);

test('overview: a person finds what cost the most time, and goes on to its report', async () => {
  const page = await open();
  const rows = await page.locator('table.wide').first().locator('tbody tr').allInnerTexts();
  assert.match(rows[0], /^resize_image/);
  await page.getByRole('link', { name: 'compact_log' }).click();
  await page.getByText('grouped by what its owner did').waitFor();
  await settled(page);
  await page.locator('.flame summary').click();
  assert.match(await page.locator('.flame table').innerText(), /lookup/);
  await page.locator('td a[href^="#/report/"]').first().click();
  await page.getByText('As hangdog show prints it').waitFor();
  await settled(page);
  assert.match(await text(page), /hang of 1.5 s in lookup \(shop\.c:13\)/);
  await close(page);
});
