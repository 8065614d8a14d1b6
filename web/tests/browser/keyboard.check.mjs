// SPDX-License-Identifier: MIT
//
// Without a pointer: each control is reached by Tab and shows that it is, and the keys do what the help says.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { close, end, everyPage, goTo, open, settled, start } from './browser.mjs';

before(start);
after(end);

const CONTROLS = 'a[href], button:not(:disabled), input:not(:disabled), select, textarea, summary, canvas[tabindex], pre[tabindex]';

// The controls that a person sees and those that Tab reaches, by what they are.
async function tabThrough(page) {
  await page.evaluate((controls) => {
    document.activeElement?.blur();
    window.scrollTo(0, 0);
    window.wanted = new Set([...document.querySelectorAll(controls)].filter((element) => element.checkVisibility()));
  }, CONTROLS);
  await page.mouse.click(640, 2).catch(() => {});
  const unseen = [];
  const most = await page.evaluate(() => window.wanted.size + 60);
  let left = most;
  for (let i = 0; i < most && left > 0; i += 1) {
    await page.keyboard.press('Tab');
    const state = await page.evaluate(() => {
      const element = document.activeElement, style = getComputedStyle(element);
      window.wanted.delete(element);
      const shown = element === document.body || (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2);
      return { left: window.wanted.size, unseen: shown ? '' : element.outerHTML.slice(0, 100) };
    });
    left = state.left;
    if (state.unseen) unseen.push(state.unseen);
  }
  assert.deepEqual(await page.evaluate(() => [...window.wanted].map((element) => element.outerHTML.slice(0, 100))), [], 'Tab does not reach');
  assert.deepEqual(unseen, [], 'the focus is not seen');
}

test('Tab reaches each control of each page, and one sees where it is', async () => {
  const page = await open();
  for (const [name, address] of Object.entries(await everyPage())) {
    if (name === 'lock') continue; // as `group`
    await goTo(page, address);
    await tabThrough(page);
  }
  await close(page);
});

test('from the first Tab to a report without a pointer', async () => {
  const page = await open();
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.innerText), 'Skip to the content');
  await page.keyboard.press('Enter');
  for (let i = 0; i < 40 && !await page.evaluate(() => document.activeElement.innerText === 'compact_log'); i += 1) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByText('grouped by what its owner did').waitFor();
  await settled(page);
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main', 'a new page starts at its content');
  await page.locator('.flame canvas').focus();
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
  assert.match(await page.locator('.flame .picture-says').innerText(), /on_request/);
  await page.keyboard.press('Enter');
  assert.ok(await page.locator('.flame').getByRole('button', { name: 'Reset zoom' }).isEnabled());
  await page.keyboard.press('Escape');
  await close(page);
});

test('the keys of the help', async () => {
  const page = await open();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await page.keyboard.press('Escape');
  assert.equal(await page.getByRole('dialog').count(), 0);
  for (const [key, title] of [['c', 'Compare versions'], ['r', 'Frames'], ['s', 'Settings'], ['o', 'Hangs']]) {
    await page.keyboard.press(key);
    await page.getByRole('heading', { name: title, level: 1 }).waitFor();
    await settled(page);
  }
  await page.keyboard.press('/');
  await page.keyboard.type('export');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'run_export' }).waitFor();
  await page.getByRole('button', { name: 'Keyboard help' }).click();
  await page.getByRole('button', { name: 'Close' }).click();
  assert.equal(await page.getByRole('dialog').count(), 0);
  await close(page);
});
