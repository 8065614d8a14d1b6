// SPDX-License-Identifier: MIT
//
// The states of a section: it loads, it has nothing, it failed, it shows something.

import { Missing, Refused } from '../api';
import { add, make, type Child } from '../dom/element';

export function section(title: string, ...children: Child[]): HTMLElement {
  return make('section', null, title ? make('h2', null, title) : null, ...children);
}

export const loading = (what = '') => make('p.state.loading', { role: 'status' }, what ? `Loading ${what} ...` : 'Loading ...');

export function empty(...children: Child[]): HTMLElement {
  return make('div.state.empty', null, ...children);
}

export function failed(error: unknown, again: () => void): HTMLElement {
  const text = error instanceof Error ? error.message : String(error);
  return make('div.state.error', { role: 'alert' },
    make('p', null, error instanceof Missing ? 'The collector has nothing here: ' : 'This cannot be shown: ', text, '.'),
    make('button', { type: 'button', click: again }, 'Try again'));
}

// A box that shows what `ask` brings; the user can repeat what failed. Who has no key gets the page that asks for one.
export function loaded<T>(what: string, ask: () => Promise<T>, show: (answer: T) => Child[]): HTMLElement {
  const box = make('div.loaded');
  const start = async () => {
    box.replaceChildren(loading(what));
    try {
      const answer = await ask();
      box.replaceChildren();
      add(box, ...show(answer));
    } catch (error) {
      if (error instanceof Refused) window.dispatchEvent(new Event('refused'));
      box.replaceChildren(failed(error, start));
    }
  };
  void start();
  return box;
}

// Says it aloud to who does not see the page.
export function say(text: string): void {
  const status = document.getElementById('status');
  if (status) status.textContent = text;
}
