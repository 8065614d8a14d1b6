// SPDX-License-Identifier: MIT
//
// Elements. Texts of reports are hostile: they get on a page as text nodes only.

import { visibleText } from '../pictures/text';

export type Child = Node | string | number | null | undefined | false;
type Value = string | number | boolean | null | undefined | EventListener;

// make('td.number', { title: 'x' }, 'text', child, ...)
export function make<T extends HTMLElement = HTMLElement>(what: string, attributes?: Record<string, Value> | null, ...children: Child[]): T {
  const [tag, ...classes] = what.split('.');
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(' ');
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  add(element, ...children);
  return element as T;
}

export function add(element: Element, ...children: Child[]): void {
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) element.append(child instanceof Node ? child : visibleText(String(child)));
  }
}

export function svg(tag: string, attributes: Record<string, string | number>, ...children: Node[]): SVGElement {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

export const byId = (id: string) => document.getElementById(id) as HTMLElement;

// A host for a picture. Pictures measure their host, so `draw` runs once the host is on the page.
export function picture(what: string, label: string, draw: (host: HTMLElement) => void): HTMLElement {
  const host = make(what, { role: 'group', 'aria-label': label });
  const start = new ResizeObserver(() => {
    if (host.clientWidth === 0) return;
    start.disconnect();
    draw(host);
  });
  start.observe(host);
  return host;
}

// A colour of the style sheet, as the present scheme (light or dark) has it.
export const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

// Redraws when the user's scheme changes, as long as the element is on the page.
export function onScheme(element: Element, redraw: () => void): void {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const change = () => {
    if (element.isConnected) redraw();
    else dark.removeEventListener('change', change);
  };
  dark.addEventListener('change', change);
}
