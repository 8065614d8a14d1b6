// SPDX-License-Identifier: MIT
//
// What a person finds on each page, and each of its controls.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { adminKey, answer, close, emptyKey, emptyUrl, end, everyPage, goTo, groupOf, key, open, settled, start, text, url } from './browser.mjs';

before(start);
after(end);

const firstRows = (page) => page.locator('table.wide').first().locator('tbody tr').allInnerTexts();

test('overview: a person finds what cost the most time, and goes on to its report', async () => {
  const page = await open();
  const rows = await firstRows(page);
  assert.match(rows[0], /^scale_row\s+image\.c:31 · shop\s+cpu\s+1 min \d+ s\s+30\s+30/);
  assert.match(rows[1], /^escape_html\s*new/);
  assert.match(await text(page), /Hang rate\s+0\.\d\d s\/h\s+over \d+ days of use/);
  await page.getByText('As a table').first().click();
  assert.match(await page.locator('.astable table').first().innerText(), /shop 1\.3/);
  await page.getByRole('link', { name: 'compact_log' }).click();
  await page.getByText('grouped by what its owner did').waitFor();
  await settled(page);
  await page.locator('td a[href^="#/report/"]').first().click();
  await page.getByText('As hangdog show prints it').waitFor();
  await settled(page);
  assert.match(await text(page), /hang of 1.5 s in lookup \(index\.c:113\)/);
  await page.goBack();
  await page.getByText('grouped by what its owner did').waitFor();
  await close(page);
});

test('overview: app, time and state choose what is shown, and are in the address', async () => {
  const page = await open();
  await page.locator('#app').selectOption('viewer');
  await page.waitForURL(/app=viewer/);
  await page.waitForFunction(() => document.querySelectorAll('table.wide tbody tr').length === 1);
  assert.match((await firstRows(page))[0], /720 ms/);
  assert.equal(await page.locator('#days').count(), 1);
  await page.locator('#app').selectOption('shop');
  await page.locator('#version').selectOption('1.3');
  await page.waitForFunction(() => /Time lost\s+1 min 9 s\s+of its whole life/.test(document.querySelector('main').innerText));
  assert.equal(await page.locator('#days').count(), 0, 'the time is that of the version');
  assert.equal((await firstRows(page)).some((row) => row.startsWith('escape_html')), false, 'it is of 2.0');
  await page.locator('#version').selectOption('');
  await page.locator('#app').selectOption('');
  await page.locator('#days').selectOption('7');
  await page.waitForURL(/days=7/);
  await page.waitForFunction(() => !document.querySelector('main').innerText.includes('load_prices'));
  await page.locator('#state').selectOption('ignored');
  await page.getByText('No ignored groups in this time.').waitFor();
  await page.locator('#state').selectOption('all');
  await page.getByRole('link', { name: 'escape_html' }).waitFor();
  await close(page);
});

test('hosts: where the time was lost, and on to the groups of one', async () => {
  const page = await open('#/origins');
  const names = async () => (await firstRows(page)).map((row) => row.split(/\s+/)[0]).sort();
  assert.deepEqual(await names(), ['k8s-1', 'web-1', 'web-2']);
  assert.match((await firstRows(page))[0], /s\s+\d+\s+\d+/);
  await page.locator('nav.tabs').getByText('Images').click();
  await page.getByText('registry.example/shop:2.0').waitFor();
  await page.locator('nav.tabs').getByText('Units').click();
  await page.getByRole('link', { name: 'shop.service' }).click();
  await page.getByRole('button', { name: 'unit shop.service' }).waitFor();
  await goTo(page, '#/');
  await page.locator('.figure').getByRole('link', { name: '3' }).click();
  await page.locator('#app').selectOption('viewer');
  await page.waitForURL(/app=viewer/);
  await page.waitForFunction(() => !/Apps\s+Lost/.test(document.querySelector('main').innerText));
  await goTo(page, '#/report/' + (await answer('groups/' + await groupOf('scale_row'))).reports.find((r) => r.container).id);
  assert.match(await text(page), /Host\s+k8s-1\s+Container\s+shop_web_1\s+Image\s+registry\.example\/shop:2\.0/);
  await close(page);
});

test('group: stacks, durations, days, versions, systems, reports, the reason', async () => {
  const page = await open('#/group/' + await groupOf('scale_row'));
  for (const words of ['30 reports, merged by time', 'Durations', 'Time lost a day', 'Debian 12, x86_64', 'Why these are one group', 'app shop', 'This group is open']) {
    assert.ok((await text(page)).includes(words), words);
  }
  await page.locator('.flame summary').click();
  assert.match(await page.locator('.flame table').innerText(), /scale_row\s+image\.c:31\s+yes/);
  await page.locator('.flame').getByLabel('Inverted').check();
  await page.locator('.flame').getByLabel('Search functions').fill('memmove');
  await page.getByText('1 found').waitFor();
  await page.locator('#version').selectOption('2.0');
  await page.waitForURL(/version=2.0/);
  await page.getByText('9 reports, merged by time').waitFor();
  await settled(page);
  for (const summary of await page.getByText('As a table').all()) await summary.click();
  await page.waitForFunction(() => document.querySelectorAll('main table').length >= 6); // a table is made after the click
  await close(page);
});

test('group: with a key for administering its state and note change', async () => {
  const id = await groupOf('run_export'), me = await answer('me', adminKey);
  const page = await open('#/group/' + id, { as: adminKey });
  if (me === null) {
    await page.getByText('A key for administering may change the state').waitFor();
    return close(page);
  }
  assert.ok((await page.getByRole('button', { name: 'Mark as resolved' }).boundingBox()).y < 500, 'the state is not at the top');
  await page.getByText('Write a note').click();
  await page.locator('#note').fill('see ticket 7 <b>');
  await page.getByRole('button', { name: 'Save the note' }).click();
  await page.locator('p.note').waitFor();
  assert.equal(await page.locator('p.note').innerText(), 'see ticket 7 <b>');
  await page.getByRole('button', { name: 'Mark as resolved' }).click();
  await page.getByRole('button', { name: 'Open again' }).click();
  await page.getByRole('button', { name: 'Ignore' }).click();
  await page.getByRole('button', { name: 'Open again' }).waitFor();
  await goTo(page, '#/?state=ignored');
  await page.getByRole('link', { name: 'run_export' }).waitFor();
  await goTo(page, '#/group/' + id);
  await page.getByRole('button', { name: 'Open again' }).click();
  await page.getByRole('button', { name: 'Mark as resolved' }).waitFor();
  return close(page);
});

// HANGDOG_REGRESSED: a group of the app `relapse`, which was resolved in version 1 and came again in version 2.
test('a group that came again after it was resolved is marked, and is among the open ones', async () => {
  const id = await groupOf('relapsing', 'relapse'), page = await open('#/?app=relapse');
  const [row] = await firstRows(page);
  assert.match(row, /^relapsing\s*regressed\s*new/);
  assert.equal(await page.locator('.flag.regressed').first().getAttribute('title'), 'It came back after it was resolved');
  await page.locator('#state').selectOption('resolved');
  await page.waitForURL(/state=resolved/);
  await page.waitForFunction(() => document.querySelectorAll('table.wide tbody tr').length === 2); // the other one stays resolved
  assert.deepEqual((await firstRows(page)).map((one) => /regressed/.test(one)), [true, false]);
  await goTo(page, '#/group/' + id);
  assert.match(await text(page), /regressed/);
  await close(page);
});

test('report: timeline, stacks, threads, text, and each download', async () => {
  const page = await open((await everyPage()).report);
  for (const words of ['What the thread did over time', "The lock's owner: thread compactor", 'All threads (3)', 'Debian 12, x86_64']) {
    assert.ok((await text(page)).includes(words), words);
  }
  await page.locator('.threads summary').nth(1).click();
  assert.match(await page.locator('.threads details').nth(1).innerText(), /epoll_wait/);
  const buttons = page.getByRole('group', { name: 'Downloads' }).getByRole('button');
  assert.ok(await buttons.count() >= 6);
  for (const button of [page.getByRole('button', { name: 'Download the JSON' }), ...await buttons.all()]) {
    const came = page.waitForEvent('download');
    await button.click();
    const name = (await came).suggestedFilename();
    assert.match(name, /\.(json|txt|pb\.gz|envelope)$/);
  }
  await page.getByText('Show the JSON').click();
  await page.getByText(/hangdog-report\/1/).first().waitFor();
  await close(page);
});

test('compare: two versions, for an hour of use', async () => {
  const page = await open('#/compare?app=shop');
  assert.match(await text(page), /Hang rate of 1\.3[\s\S]*Hang rate of 2\.0/);
  const rows = await firstRows(page);
  assert.match(rows.find((row) => row.startsWith('escape_html')), /0 ms\s+51\.6 s\s+\+0\.\d+ s\/h/);
  await page.locator('.flame').getByLabel('Search functions').fill('escape_html');
  await page.getByText('1 found').waitFor();
  await page.locator('#from').selectOption('1.2');
  await page.waitForURL(/from=1.2/);
  await page.getByText('Hang rate of 1.2').waitFor();
  await page.locator('#to').selectOption('1.3');
  await page.getByText('Hang rate of 1.3').waitFor();
  assert.equal(await page.locator('#days').count(), 0, 'the sums are of the whole life of the versions');
  await goTo(page, '#/compare?app=shop&from=1.3&to=2.0');
  assert.deepEqual(await page.locator('.figure').evaluateAll((all) => all.map((one) => one.className)), ['figure', 'figure bad', 'figure bad'], 'a worse version is not green');
  assert.match(await page.locator('.figure').nth(2).innerText(), /^Change\s+\+\d\.\d+ s\/h\s+\d\.\d times as much/);
  await page.locator('#app').selectOption('viewer');
  await page.getByText('viewer has fewer than two versions').waitFor();
  await close(page);
});

test('reports: frames, CPU and crashes by kind', async () => {
  const page = await open('#/reports');
  for (const [kind, count] of [['Frames', 200], ['CPU', 6], ['Crashes', 3]]) {
    await page.getByRole('navigation', { name: 'Kinds' }).getByRole('link', { name: kind }).click();
    await page.getByRole('heading', { name: kind, level: 1 }).waitFor();
    await page.waitForFunction((rows) => document.querySelectorAll('table.wide tbody tr').length === rows, count);
  }
  assert.match((await firstRows(page))[0], /^paint_list\s+list\.c:40\s/);
  await page.locator('td a').first().click();
  await page.getByText('Program and system').waitFor();
  await goTo(page, '#/reports?kind=error');
  await page.getByText('No reports of this kind').waitFor();
  await goTo(page, '#/reports');
  await page.getByRole('button', { name: 'Show more' }).click();
  await page.waitForFunction(() => document.querySelectorAll('table.wide tbody tr').length === 240);
  await page.locator('#days').selectOption('7');
  await page.waitForURL(/days=7/);
  await page.waitForFunction(() => document.querySelectorAll('table.wide tbody tr').length === 64);
  await page.locator('#app').selectOption('viewer');
  await page.waitForURL(/app=viewer/);
  await page.getByText('No reports of this kind in this time.').waitFor();
  await close(page);
});

test('search: functions, places, ids, and words that nothing has', async () => {
  const { report } = await everyPage(), page = await open();
  for (const [words, found] of [['escape_html', 'page.c:13'], ['prices.c', 'load_prices'], [report.slice(-36), 'Reports']]) {
    await page.locator('#words').fill(words);
    await page.locator('#words').press('Enter');
    await page.getByRole('heading', { name: `Search: ${words}` }).waitFor();
    await settled(page);
    assert.ok((await text(page)).includes(found), words);
  }
  await goTo(page, '#/search?q=zzzz');
  assert.match(await text(page), /Nothing has these words/);
  await goTo(page, '#/search');
  assert.match(await text(page), /Write a word/);
  await close(page);
});

test('settings: keys are made and removed, limits change, for who may', async () => {
  const reader = await open('#/settings');
  assert.match(await text(reader), /Your key may read\./);
  assert.equal(await reader.getByRole('button', { name: 'Make a key' }).count(), 0);
  await reader.getByRole('button', { name: 'Sign out' }).click();
  await reader.getByText('A key is needed').waitFor();
  await close(reader);
  const page = await open('#/settings', { as: adminKey });
  if (await answer('settings', adminKey) === null) {
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    return close(page);
  }
  await page.locator('#key-app').fill('shop');
  await page.locator('#key-use').selectOption('read');
  assert.ok(await page.locator('#key-app').isDisabled());
  await page.locator('#key-use').selectOption('send');
  await page.getByRole('button', { name: 'Make a key' }).click();
  assert.match(await page.locator('code.secret').innerText(), /^hds_[0-9a-f]{32}$/);
  await page.getByRole('button', { name: 'I have it' }).click();
  const remove = page.locator('tr', { hasText: 'shop' }).getByRole('button');
  await remove.click();
  await remove.click();
  await page.waitForFunction(() => ![...document.querySelectorAll('td')].some((cell) => cell.textContent === 'shop'));
  await page.getByText('hangdog serve --limit').waitFor();
  await page.locator('#per-bug').fill('1000');
  await page.locator('#retention').fill('45');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Reports older than 45 days will be removed for good').waitFor();
  assert.equal((await answer('settings', adminKey)).retention_days, 90, 'it did not ask before');
  await page.getByRole('button', { name: 'Remove them and save' }).click();
  await page.getByText('Saved.').waitFor();
  const now = await answer('settings', adminKey);
  assert.deepEqual([now.retention_days, now.limits.group_reports_per_minute], [45, 1000]);
  return close(page);
});

test('an empty collector says on each page what to do', async () => {
  const page = await open('#/', { at: emptyUrl, as: emptyKey });
  for (const [address, words] of [['#/', 'hangdog upload --to'], ['#/compare', 'No reports are here yet'], ['#/reports?kind=crash', 'No reports of this kind'],
    ['#/search?q=main', 'Nothing has these words']]) {
    await goTo(page, address);
    await page.getByText(words).waitFor();
  }
  await close(page);
});

test('what fails says so, and can be tried again', async () => {
  const page = await open('#/group/0000000000000000');
  await page.getByText('The collector has nothing here').waitFor();
  for (const address of ['#/report/00000000-0000-4000-8000-000000000000', '#/nowhere']) {
    await goTo(page, address);
    await page.getByText('This page cannot be shown').waitFor();
  }
  await page.context().setOffline(true);
  for (const address of Object.values(await everyPage())) {
    await goTo(page, address);
    await page.getByText('the collector does not answer').first().waitFor();
  }
  await goTo(page, '#/');
  await page.context().setOffline(false);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('link', { name: 'compact_log' }).waitFor();
  await close(page);
});

test('a key is asked for, comes by the address once, and does not stay there', async () => {
  const page = await open('#/', { as: null });
  await page.getByLabel('Key for reading').fill('hdr_00000000000000000000000000000000');
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByText('The collector does not know this key').waitFor();
  await page.getByLabel('Key for reading').fill(key);
  await page.getByLabel('Key for reading').press('Enter');
  await page.getByRole('link', { name: 'compact_log' }).waitFor();
  await close(page);
  const other = await open('#key=' + key, { as: null });
  await other.getByRole('link', { name: 'compact_log' }).waitFor();
  assert.equal(other.url(), url + '/#/');
  await close(other);
});

const askedFor = (page) => page.waitForFunction(() => /A key is needed|Most time lost/.test(document.querySelector('main').innerText))
  .then(() => page.getByText('A key is needed').isVisible());

test('a link opens in a new tab, and the key ends with the last tab', async () => {
  const page = await open('#key=' + key, { as: null }), context = page.context();
  const [tab] = await Promise.all([context.waitForEvent('page'), page.getByRole('link', { name: 'compact_log' }).click({ modifiers: ['Control'] })]);
  await tab.getByText('grouped by what its owner did').waitFor();
  await page.close();
  await goTo(tab, '#/settings');
  await tab.getByRole('button', { name: 'Sign out' }).click();
  await tab.getByText('A key is needed').waitFor();
  const next = await context.newPage();
  await next.goto(url + '/#/');
  assert.ok(await askedFor(next));
  await context.close();
});

test('a person stays signed in by choice, until the sign-out of any tab', async () => {
  const page = await open('#/', { as: null }), context = page.context();
  await page.getByLabel('Key for reading').fill(key);
  await page.getByLabel('Stay signed in on this computer').check();
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByRole('link', { name: 'compact_log' }).waitFor();
  await page.close();
  const [one, two] = [await context.newPage(), await context.newPage()];
  for (const tab of [one, two]) {
    await tab.goto(url + '/#/');
    assert.equal(await askedFor(tab), false);
  }
  await goTo(one, '#/settings');
  await one.getByRole('button', { name: 'Sign out' }).click();
  await two.getByText('A key is needed').waitFor();
  await context.close();
});
