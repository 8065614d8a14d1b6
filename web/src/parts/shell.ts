// SPDX-License-Identifier: MIT
//
// What is around each page: the menu, the search field, the keys, the help.

import { address, appOf, go, type Route } from '../router';
import { byId, make } from '../dom/element';
import { WORDS } from './marks';

const PAGES: [string, string, string][] = [['overview', 'Overview', 'o'], ['compare', 'Compare', 'c'], ['reports', 'Reports', 'r'], ['origins', 'Hosts', 'h'], ['settings', 'Settings', 's']];

export function drawMenu(route: Route): void {
  const kept = { app: appOf(route), days: route.choices.get('days') || '' };
  byId('nav').replaceChildren(...PAGES.map(([page, title, key]) => make('a', {
    href: address(page, '', page === 'settings' ? {} : kept), 'aria-current': page === route.page ? 'page' : null, 'aria-keyshortcuts': key,
  }, title)));
  (byId('words') as HTMLInputElement).value = route.page === 'search' ? route.choices.get('q') || '' : '';
}

function showHelp(): void {
  const rows = [['/', 'Search'], ...PAGES.map(([, title, key]) => [key, title]), ['Tab', 'The next link or control'], ['?', 'This help'], ['Esc', 'Close']];
  const dialog = make<HTMLDialogElement>('dialog', { 'aria-labelledby': 'help-title' }, make('h2', { id: 'help-title' }, 'Keys'),
    make('dl.keys', null, ...rows.flatMap(([key, text]) => [make('dt', null, make('kbd', null, key)), make('dd', null, text)])),
    make('h2', null, 'Words'), make('dl.words', null, ...Object.entries(WORDS).flatMap(([word, text]) => [make('dt', null, word), make('dd', null, text)])),
    make('form', { method: 'dialog' }, make('button', null, 'Close')));
  // The page's policy forbids that forms are sent; this one only closes.
  dialog.querySelector('form')?.addEventListener('submit', (event) => { event.preventDefault(); dialog.close(); });
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

export function startShell(): void {
  byId('search').addEventListener('submit', (event) => {
    event.preventDefault();
    go(address('search', '', { q: (byId('words') as HTMLInputElement).value.trim() }));
  });
  byId('help').addEventListener('click', showHelp);
  document.addEventListener('keydown', (event) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest('input, select, textarea, dialog')) return;
    const page = PAGES.find(([, , key]) => key === event.key);
    if (event.key === '/') {
      event.preventDefault();
      byId('words').focus();
    } else if (event.key === '?') showHelp();
    else if (page) go(address(page[0]));
  });
}
