// SPDX-License-Identifier: MIT
//
// The dashboard: it shows the page that the address names.

import 'uplot/dist/uPlot.min.css';
import './style/app.css';
import './style/parts.css';
import './pictures/pictures.css';
import * as api from './api';
import { key, keyIsRefused, keyOfAnotherTab, setKey, shareKey } from './key';
import { add, byId, make, type Child } from './dom/element';
import { drawMenu, startShell } from './parts/shell';
import { failed, loading, say } from './parts/states';
import { compare } from './pages/compare';
import { group } from './pages/group';
import { origins } from './pages/origins';
import { overview } from './pages/overview';
import type { Page } from './pages/page';
import { report } from './pages/report';
import { reports } from './pages/reports';
import { search } from './pages/search';
import { settings } from './pages/settings';
import { parse } from './router';
import { leaveScroll, restoreScroll, startScroll } from './scroll';

const PAGES: Record<string, Page> = { overview, group, report, compare, reports, origins, search, settings };
let turn = 0;
let shown = '';

function show(title: string, crumbs: Child[], content: Child[]): void {
  document.title = `${title} - Hangdog`;
  const line = byId('crumbs');
  line.replaceChildren();
  if (crumbs.length) add(line, make('a', { href: '#/' }, 'Hangs'), ' › ', ...crumbs);
  const main = byId('main');
  main.replaceChildren();
  add(main, ...content);
}

function askKey(): void {
  const input = make<HTMLInputElement>('input', { type: 'password', id: 'key', autocomplete: 'off', size: 40, required: true });
  const stay = make<HTMLInputElement>('input', { type: 'checkbox', id: 'stay' });
  const form = make('form', null,
    make('div.controls', null, make('div.field', null, make('label', { for: 'key' }, 'Key for reading'), input), make('button', null, 'Open')),
    make('div.check', null, stay, make('label', { for: 'stay' }, 'Stay signed in on this computer')));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    setKey(input.value.trim(), stay.checked);
    void route();
  });
  keyIsRefused();
  show('Key', [], [make('section.ask', null, make('h1', null, 'A key is needed'),
    key() ? make('p.bad', { role: 'alert' }, 'The collector does not know this key.') : null,
    make('p', null, 'hangdog serve printed one at its first start; a service has it in the file first-keys of its state directory. ',
      make('code', null, 'hangdog serve --new-key read'), ' makes another one.'), form,
    make('p.dim', null, 'Without the tick the key ends with the last tab of this page.'))]);
  input.focus();
}

// The key comes once, behind the #: browsers do not send that part. It leaves the address at once.
function takeKey(): void {
  const match = /^#key=([\w-]+)$/.exec(location.hash);
  if (match) {
    setKey(match[1]);
    history.replaceState(null, '', location.pathname + '#/');
  }
}

async function route(): Promise<void> {
  if (location.hash === '#main') return;
  const mine = ++turn;
  takeKey();
  const to = parse(location.hash), page = PAGES[to.page];
  const isNew = shown !== `${to.page}/${to.id}`;
  drawMenu(to);
  leaveScroll();
  if (isNew) show('Loading', [], [loading()]);
  try {
    if (!page) throw new api.Missing('there is no such page');
    const view = await page(to);
    if (mine !== turn) return;
    const focused = document.activeElement?.id;
    show(view.title, view.crumbs || [], view.content);
    restoreScroll(isNew);
    if (isNew) {
      if (shown) byId('main').focus({ preventScroll: true });
    } else if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    shown = `${to.page}/${to.id}`;
    say(`${view.title}: loaded`);
  } catch (error) {
    if (mine !== turn) return;
    shown = '';
    if (error instanceof api.Refused) askKey();
    else show('Error', [], [make('section', null, make('h1', null, 'This page cannot be shown'), failed(error, () => void route()))]);
  }
}

window.addEventListener('hashchange', () => void route());
window.addEventListener('refused', () => { turn++; shown = ''; askKey(); });
startShell();
startScroll();
takeKey();
shareKey(() => { turn++; shown = ''; askKey(); });
void keyOfAnotherTab().then(route);
