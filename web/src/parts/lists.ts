// SPDX-License-Identifier: MIT
//
// What is around a list that is longer than a page.

import { make } from '../dom/element';

// Which rows of how many a list shows, and the addresses of those before and after.
export function pager(offset: number, shown: number, total: number, step: number, to: (offset: number) => string): HTMLElement | null {
  if (offset === 0 && shown >= total) return null;
  return make('nav.pager', { 'aria-label': 'Pages of this list' },
    make('span', null, shown > 0 ? `${(offset + 1).toLocaleString()}–${(offset + shown).toLocaleString()} of ${total.toLocaleString()}` : `0 of ${total.toLocaleString()}`),
    offset > 0 ? make('a', { href: to(Math.max(0, offset - step)), rel: 'prev' }, '← Previous') : null,
    offset + shown < total ? make('a', { href: to(offset + step), rel: 'next' }, 'Next →') : null);
}

// Below a list that the collector cuts at `max` rows: it is not all.
export function cutAt(rows: readonly unknown[], max: number, what: string): HTMLElement | null {
  return rows.length >= max ? make('p.dim', null, `Only ${max.toLocaleString()} are here: ${what}.`) : null;
}

// A button that brings the next rows below the table.
export function pages<Row>(first: Row[], more: (offset: number) => Promise<Row[]>, draw: (rows: Row[]) => HTMLElement, page = 50): HTMLElement {
  const all = [...first];
  const box = make('div', null, draw(all));
  const button = make<HTMLButtonElement>('button.more', { type: 'button' }, 'Show more');
  const error = make('p.state.error', { role: 'alert', hidden: true });
  button.addEventListener('click', async () => {
    button.disabled = true;
    try {
      const next = await more(all.length);
      all.push(...next);
      box.replaceChild(draw(all), box.firstChild as Node);
      button.hidden = next.length < page;
      error.hidden = true;
    } catch (problem) {
      error.textContent = problem instanceof Error ? problem.message : String(problem);
      error.hidden = false;
    }
    button.disabled = false;
  });
  if (first.length >= page) box.append(button, error);
  return box;
}
