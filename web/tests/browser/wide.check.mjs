// SPDX-License-Identifier: MIT
//
// A collector with more groups than a page has, an app with a long name, and a program that ran for a minute.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { close, end, goTo, open, settled, start, text, wideKey, wideUrl } from './browser.mjs';

before(start);
after(end);

const wide = (address) => open(address, { at: wideUrl, as: wideKey });
const rows = (page) => page.locator('table.wide').first().locator('tbody tr');

test('the totals are those of all groups, and each group is on a page', async () => {
  const page = await wide('#/?app=wide');
  assert.match(await text(page), /Time lost\s+2 min 13 s[\s\S]*Hangs\s+212\s[\s\S]*Groups\s+212\s/);
  assert.equal(await rows(page).count(), 200);
  const pager = page.getByRole('navigation', { name: 'Pages of this list' });
  assert.match(await pager.innerText(), /1–200 of 212/);
  await pager.getByRole('link', { name: 'Next' }).click();
  await page.getByText('201–212 of 212').waitFor();
  assert.equal(await rows(page).count(), 12);
  await page.locator('#seen').selectOption('new');
  await page.waitForURL(/seen=new/);
  await page.waitForFunction(() => /Groups\s+60\s/.test(document.querySelector('main').innerText));
  await page.locator('#sort').selectOption('first');
  await page.getByRole('heading', { name: 'Newest first' }).waitFor();
  await page.locator('th').getByRole('link', { name: 'Users or runs' }).click();
  await page.getByRole('heading', { name: 'Most users or runs' }).waitFor();
  assert.equal(await page.locator('th[aria-sort=descending]').innerText(), 'Users or runs ↓');
  await page.locator('#seen').selectOption('regressed');
  await page.getByText('No open, regressed groups in this time.').waitFor();
  await goTo(page, '#/search?q=wide_bug');
  await page.getByRole('button', { name: 'Show more' }).click();
  await page.waitForFunction(() => document.querySelectorAll('table.wide tbody tr').length === 100);
  await close(page);
});

test('back from a group, the list is where it was', async () => {
  const page = await wide('#/?app=wide');
  await page.evaluate(() => window.scrollTo(0, 3000));
  await page.waitForTimeout(100);
  const link = rows(page).nth(55).getByRole('link').first();
  const before = await page.evaluate(() => window.scrollY);
  await link.evaluate((element) => element.click());
  await page.getByText('Why these are one group').waitFor();
  assert.equal(await page.evaluate(() => window.scrollY), 0, 'a new page starts at its top');
  await page.goBack();
  await settled(page);
  await page.waitForFunction((y) => Math.abs(window.scrollY - y) < 3, before);
  await close(page);
});

test('the chart: labels fit, lines and marks have their app, a run of a minute flattens no other', async () => {
  const page = await wide('#/');
  await page.locator('.u-legend').waitFor();
  const legend = (await page.locator('.u-legend .u-label').allInnerTexts()).map((one) => one.replace(/:?\s*$/, ''));
  assert.ok(legend.includes('npm') && legend.includes('wide 2.0') && legend.includes('other 2.0'), legend.join());
  assert.match(await text(page), /Days on which a version was used for less than 10 min are only in the table/);
  await page.getByText('As a table').first().click();
  assert.match(await page.locator('.astable table').first().innerText(), /1,2\d\d s\/h/);
  await goTo(page, '#/?app=slow'); // each day has some 2,000 s/h
  await page.locator('.u-axis').nth(1).waitFor();
  assert.ok(await page.locator('.u-axis').nth(1).evaluate((axis) => axis.clientWidth) > 60, 'the labels of the y axis are cut');
  await goTo(page, '#/'); // errors and crashes are listed however many hangs there are
  const others = page.locator('section', { has: page.getByRole('heading', { name: 'Errors, crashes, frames, pool stalls and use of CPUs' }) });
  await others.getByText('wide::Paint::operator()').waitFor();
  assert.match(await others.innerText(), /1 group[\s\S]*wide::Paint::operator\(\)/);
  await page.keyboard.press('?');
  await page.getByText('Seconds lost in hangs for each hour that the programs were in use').waitFor();
  await close(page);
});
