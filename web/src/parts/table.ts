// SPDX-License-Identifier: MIT
import { make, type Child } from './dom';

export interface Column<Row> {
  title: string; number?: boolean; small?: boolean; hidden?: boolean; cell: (row: Row) => Child;
  explain?: string;
  sort?: { href: string; now: boolean }; // the address of the same list in the order of this column
}

function heading<Row>(column: Column<Row>): Child {
  if (column.hidden) return make('span.hidden', null, column.title);
  return column.sort ? make('a.sort', { href: column.sort.href }, column.title, column.sort.now ? ' ↓' : '') : column.title;
}

// `wide`: on a phone each row becomes a card with the titles beside the cells.
export function table<Row>(caption: string, columns: Column<Row>[], rows: Row[], wide = false): HTMLElement {
  const classes = (column: Column<Row>) => (column.number ? '.number' : '') + (column.small ? '.small' : '');
  const head = columns.map((column) =>
    make('th' + classes(column), { scope: 'col', title: column.explain, 'aria-sort': column.sort?.now ? 'descending' : null }, heading(column)));
  const body = rows.map((row) => make('tr', null, ...columns.map((column, i) =>
    make('td' + classes(column), i > 0 && wide ? { 'data-label': column.hidden ? '' : column.title } : null, column.cell(row)))));
  return make('div.scroll', { tabindex: wide ? null : 0, role: wide ? null : 'group', 'aria-label': wide ? null : caption },
    make(wide ? 'table.wide' : 'table', null, make('caption.hidden', null, caption), make('thead', null, make('tr', null, ...head)),
      make('tbody', null, ...body)));
}

// The same as a picture says, for who cannot see it, or wants the numbers.
export function asTable(content: () => HTMLElement): HTMLElement {
  const details = make('details.astable', null, make('summary', null, 'As a table'));
  details.addEventListener('toggle', () => {
    if ((details as HTMLDetailsElement).open && details.childElementCount === 1) details.append(content());
  });
  return details;
}

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
