// SPDX-License-Identifier: MIT
//
// Tables of pages and of pictures.

import { add, make, type Child } from './element';

export interface Column<Row> {
  title: string; number?: boolean; small?: boolean; hidden?: boolean; cell: (row: Row) => Child;
  explain?: string;
  sort?: { href: string; now: boolean }; // the address of the same list in the order of this column
}

function heading<Row>(column: Column<Row>): Child {
  if (column.hidden) return make('span.hidden', null, column.title);
  return column.sort ? make('a.sort', { href: column.sort.href }, column.title, column.sort.now ? ' ↓' : '') : column.title;
}

// `wide`: on a phone each row becomes a card with the titles beside the cells. A line says how many rows beyond `most` are left out.
export function table<Row>(caption: string, columns: Column<Row>[], rows: Row[], { wide = false, most = Infinity } = {}): HTMLElement {
  const classes = (column: Column<Row>) => (column.number ? '.number' : '') + (column.small ? '.small' : '');
  const head = columns.map((column) =>
    make('th' + classes(column), { scope: 'col', title: column.explain, 'aria-sort': column.sort?.now ? 'descending' : null }, heading(column)));
  const body = rows.slice(0, most).map((row) => make('tr', null, ...columns.map((column, i) =>
    make('td' + classes(column), i > 0 && wide ? { 'data-label': column.hidden ? '' : column.title } : null, column.cell(row)))));
  return make('div.scroll', { tabindex: wide ? null : 0, role: wide ? null : 'group', 'aria-label': wide ? null : caption },
    make(wide ? 'table.wide' : 'table', null, make('caption.hidden', null, caption), make('thead', null, make('tr', null, ...head)),
      make('tbody', null, ...body)),
    rows.length > most ? make('p.dim', null, `${(rows.length - most).toLocaleString('en')} more rows are left out.`) : null);
}

// Content that is made when a person opens it.
export function unfold(what: 'details' | `details.${string}`, summary: Child | Child[], content: () => HTMLElement): HTMLElement {
  const line = make('summary');
  add(line, ...(Array.isArray(summary) ? summary : [summary]));
  const details = make(what, null, line);
  details.addEventListener('toggle', () => {
    if (details.open && details.childElementCount === 1) details.append(content());
  });
  return details;
}

// The same as a picture says, for a person who cannot see it, or wants the numbers.
export const asTable = (content: () => HTMLElement): HTMLElement => unfold('details.astable', 'As a table', content);
