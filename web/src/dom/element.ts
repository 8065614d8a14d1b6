// SPDX-License-Identifier: MIT
//
// Elements. Texts of reports are hostile: they get on a page as text nodes only.

import { visibleText } from '../pictures/text';

export type Child = Node | string | number | null | undefined | false;
type Value = string | number | boolean | null | undefined | EventListener;
type Attributes = Record<string, Value> | null;

// make('td.number', { title: 'x' }, 'text', child, ...)
export function make<K extends keyof HTMLElementTagNameMap>(what: K | `${K}.${string}`, attributes?: Attributes, ...children: Child[]): HTMLElementTagNameMap[K];
export function make<T extends HTMLElement = HTMLElement>(what: string, attributes?: Attributes, ...children: Child[]): T;
export function make(what: string, attributes: Attributes = null, ...children: Child[]): HTMLElement {
  const [tag, ...classes] = what.split('.');
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(' ');
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  add(element, ...children);
  return element;
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

// Gives a person a file to keep.
export function save(content: Blob, name: string): void {
  const link = make('a', { href: URL.createObjectURL(content), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}
