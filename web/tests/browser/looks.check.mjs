// SPDX-License-Identifier: MIT
//
// On a phone, in the dark, on paper; contrast; what a screen reader gets. HANGDOG_SCREENSHOTS: pictures for docs/dashboard.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { adminKey, close, emptyKey, emptyUrl, end, everyPage, goTo, open, screenshots, shoot, start, wideKey, wideUrl } from './browser.mjs';

before(start);
after(end);

// Texts with less contrast than WCAG AA asks for.
const faint = () => {
  const part = (value) => { const c = value / 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const numbers = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = numbers(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll('body *')].filter((element) => element.checkVisibility() && !element.closest('.hidden, :disabled, option, .skip') &&
    [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())).map((element) => {
    const style = getComputedStyle(element), size = parseFloat(style.fontSize);
    const [a, b] = [light(numbers(style.color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    return ratio < least ? `${ratio.toFixed(2)} ${element.outerHTML.slice(0, 80)}` : '';
  }).filter(Boolean);
};

// What a screen reader finds nameless or unexplained.
const nameless = () => [
  ...[...document.querySelectorAll('input, select, textarea')].filter((e) => !e.labels?.length && !e.getAttribute('aria-label')),
  ...[...document.querySelectorAll('canvas[tabindex], svg[role=img], [role=group]')].filter((e) => !e.getAttribute('aria-label')),
  ...[...document.querySelectorAll('figure.picture, .chart')].filter((e) => !e.parentElement.querySelector('details')),
  ...[...document.querySelectorAll('button, a[href]')].filter((e) => !e.textContent.trim() && !e.getAttribute('aria-label')),
].map((element) => element.outerHTML.slice(0, 100));

const wide = () => [...document.querySelectorAll('body *')].filter((e) => !e.closest('pre, .scroll, .hidden, .skip, .flame-scroll') &&
  e.getBoundingClientRect().right > innerWidth + 0.5).map((e) => e.outerHTML.slice(0, 100));

for (const dark of [false, true]) {
  test(`contrast and names, ${dark ? 'dark' : 'light'}`, async () => {
    const page = await open('#/', { dark, as: adminKey });
    for (const [name, address] of Object.entries(await everyPage())) {
      await goTo(page, address);
      assert.deepEqual(await page.evaluate(faint), [], `contrast of ${name}`);
      assert.deepEqual(await page.evaluate(nameless), [], `names of ${name}`);
      assert.equal(await page.locator('h1').count(), 1, `headings of ${name}`);
      if (!dark) await shoot(page, name);
    }
    await goTo(page, '#/');
    const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(back, dark ? 'rgb(22, 21, 20)' : 'rgb(247, 246, 243)');
    if (dark) await shoot(page, 'overview-dark');
    await close(page);
  });
}

test('on a phone everything fits in 360 pixels', async () => {
  const page = await open('#/', { phone: true, dark: true });
  for (const [name, address] of Object.entries(await everyPage())) {
    await goTo(page, address);
    assert.deepEqual(await page.evaluate(wide), [], name);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 360), name);
    if (['overview', 'group', 'report'].includes(name)) await shoot(page, 'phone-' + name);
  }
  await close(page);
});

for (const width of [375, 768]) {
  test(`in ${width} pixels an app's long name fits, and no column is cut`, async () => {
    const page = await open('#/', { at: wideUrl, as: wideKey, width });
    for (const address of ['#/', '#/compare', '#/reports?kind=cpu', '#/search?q=wide_bug']) {
      await goTo(page, address);
      assert.deepEqual(await page.evaluate(wide), [], address);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), address);
      assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth + 1).length), 0, address);
    }
    await close(page);
  });
}

test('on paper there is no menu and no control', async () => {
  const page = await open((await everyPage()).report);
  await page.emulateMedia({ media: 'print' });
  assert.equal(await page.locator('header.top').isVisible(), false);
  assert.equal(await page.locator('main button:visible, main input:visible').count(), 0);
  assert.ok(await page.getByText('The stack with the most time').isVisible());
  await close(page);
});

test('the pictures of the empty page and of a failure', { skip: !screenshots }, async () => {
  const page = await open('#/', { at: emptyUrl, as: emptyKey });
  await shoot(page, 'empty');
  await goTo(page, '#/group/0000000000000000');
  await shoot(page, 'error');
  await close(page);
});
