// SPDX-License-Identifier: MIT
//
// Debian's Chromium through playwright-core, and what each check of the pages needs. tests/cli/test_dashboard.py starts the
// collectors and gives their addresses and keys in the environment.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

export const { HANGDOG_URL: url, HANGDOG_KEY: key, HANGDOG_ADMIN_KEY: adminKey, HANGDOG_EMPTY_URL: emptyUrl, HANGDOG_EMPTY_KEY: emptyKey,
  HANGDOG_WIDE_URL: wideUrl, HANGDOG_WIDE_KEY: wideKey, HANGDOG_SCREENSHOTS: screenshots } = process.env;
const PATIENCE_MS = 20000;
let browser;

export async function start() {
  browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
}

export const end = () => browser?.close();

// A page with the dashboard at an address behind the #, and what went wrong in it.
export async function open(address = '#/', { dark = false, phone = false, as = key, at = url, width = 1280 } = {}) {
  const context = await browser.newContext({
    colorScheme: dark ? 'dark' : 'light', viewport: phone ? { width: 360, height: 740 } : { width, height: 900 },
    reducedMotion: 'reduce', locale: 'en-GB', timezoneId: 'UTC',
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.faults = [];
  page.elsewhere = [];
  page.on('pageerror', (error) => page.faults.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of [45]\d\d|ERR_INTERNET_DISCONNECTED/.test(message.text())) page.faults.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(at + '/') && !/^(about|blob):/.test(request.url())) page.elsewhere.push(request.url());
  });
  if (as) await page.addInitScript((text) => { if (!sessionStorage.getItem('hangdog-key')) sessionStorage.setItem('hangdog-key', text); }, as);
  await page.goto(`${at}/${address}`);
  await settled(page);
  return page;
}

// Until nothing loads any more.
export async function settled(page) {
  await page.waitForFunction(() => document.querySelector('main')?.childElementCount > 0 && !document.querySelector('.loading'));
}

// Waits until the content of the page before is gone.
export async function goTo(page, address) {
  await page.evaluate((to) => {
    if (location.hash !== to) document.querySelector('main').append(Object.assign(document.createElement('i'), { id: 'before' }));
    location.hash = to;
  }, address);
  await page.waitForFunction(() => !document.getElementById('before'));
  await settled(page);
}

export async function close(page) {
  const { faults, elsewhere } = page;
  await page.context().close();
  assert.deepEqual(faults, [], 'the page reports errors');
  assert.deepEqual(elsewhere, [], 'the page asks elsewhere');
}

export const text = (page) => page.locator('main').innerText();

// An answer of the collector; null where it has no such address.
export async function answer(path, as = key) {
  const got = await fetch(`${url}/api/v1/${path}`, { headers: { Authorization: 'Bearer ' + as } });
  return got.ok ? got.json() : null;
}

export async function groupOf(name, app = 'shop') {
  const { groups } = await answer('overview?days=60');
  return groups.find((group) => group.function === name && group.app === app).fingerprint;
}

// Each page with its address; those of a group and a report are of a hang that waited for a lock.
export async function everyPage() {
  const lock = await groupOf('compact_log');
  const { reports } = await answer('groups/' + lock);
  return { overview: '#/', group: '#/group/' + await groupOf('scale_row'), lock: '#/group/' + lock, report: '#/report/' + reports[0].id,
    compare: '#/compare?app=shop', reports: '#/reports?kind=cpu', origins: '#/origins', search: '#/search?q=log', settings: '#/settings' };
}

// A picture for docs/dashboard, where the user asks for them.
export async function shoot(page, name) {
  if (!screenshots) return;
  await page.evaluate(() => { window.scrollTo(0, 0); document.activeElement?.blur(); });
  await page.screenshot({ path: join(screenshots, name + '.png') });
}
