// SPDX-License-Identifier: MIT
//
// Elements of the pictures. A text gets onto the page by textContent only.

type Child = Node | string | number | null | undefined;

/** element('td.number', {title: 'x'}, 'text', child) */
export function element<K extends keyof HTMLElementTagNameMap>(
  what: K | `${K}.${string}`, attributes: Record<string, string | number | null> = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const [tag, ...classes] = what.split('.');
  const made = document.createElement(tag as K);
  if (classes.length) made.className = classes.join(' ');
  for (const [name, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(name, String(value));
  for (const child of children) if (child !== null && child !== undefined) made.append(child instanceof Node ? child : String(child));
  return made;
}

export interface Column<Row> {
  title: string;
  number?: boolean;
  cell: (row: Row) => Child;
}

/** A table of at most `most` rows, and a line that says how many are left out. */
export function table<Row>(columns: Column<Row>[], rows: Row[], caption: string, most = 100): HTMLElement {
  const head = element('tr', {}, ...columns.map((c) => element(c.number ? 'th.number' : 'th', { scope: 'col' }, c.title)));
  const body = rows.slice(0, most).map((row) => element('tr', {}, ...columns.map((c) => element(c.number ? 'td.number' : 'td', {}, c.cell(row)))));
  const left = rows.length - most;
  return element('div.scroll', { tabindex: 0, role: 'region', 'aria-label': caption },
    element('table', { 'aria-label': caption }, element('thead', {}, head), element('tbody', {}, ...body)),
    left > 0 ? element('p.dim', {}, `${left.toLocaleString('en')} more rows are left out.`) : null);
}

/** What a picture says, as a table that is made when a person opens it. */
export function tableBelow(summary: string, make: () => HTMLElement): HTMLDetailsElement {
  const details = element('details.picture-table', {}, element('summary', {}, summary));
  details.addEventListener('toggle', () => {
    if (details.open && details.childElementCount === 1) details.append(make());
  });
  return details;
}

/** A coloured sign with its words. */
export function legend(entries: { sign: string; text: string }[]): HTMLElement {
  return element('ul.picture-legend', {}, ...entries.map((entry) =>
    element('li', {}, element(`span.sign.${entry.sign}` as 'span.sign', { 'aria-hidden': 'true' }), entry.text)));
}
