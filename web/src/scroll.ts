// SPDX-License-Identifier: MIT
//
// Where the user was on each page of the browser's history: going back shows the same place again. The browser cannot do it, since a page
// gets its content after the address has changed.

const NAME = 'hangdog-scroll';
const PATIENCE_MS = 3000;
const PLACES_MAX = 100;

const places = new Map<string, number>();
let entry = ''; // of the history, whose page is shown; empty: it is not there yet
let coming = ''; // the entry whose place is being restored

function load(): void {
  try {
    for (const [name, at] of Object.entries(JSON.parse(sessionStorage.getItem(NAME) || '{}') as Record<string, number>)) places.set(name, at);
  } catch {
    // not ours: pages start at their top
  }
}

function arrive(): void {
  if (coming) entry = coming;
  coming = '';
}

export function startScroll(): void {
  load();
  history.scrollRestoration = 'manual';
  window.addEventListener('scroll', () => { if (entry) places.set(entry, window.scrollY); }, { passive: true });
  for (const name of ['wheel', 'touchstart', 'keydown', 'pointerdown']) window.addEventListener(name, arrive, { passive: true });
  window.addEventListener('pagehide', () => sessionStorage.setItem(NAME, JSON.stringify(Object.fromEntries([...places].slice(-PLACES_MAX)))));
}

/** A page loads: what moves now is no move of the user. */
export function leaveScroll(): void {
  entry = coming = '';
}

/** The page is there: at the place where the user left it, else at its top, or where it is if it is no new page. */
export function restoreScroll(isNew: boolean): void {
  const state = history.state as { entry?: string } | null, known = state?.entry || '';
  const now = known || `${Date.now()}-${Math.random()}`;
  if (!known) history.replaceState({ ...state, entry: now }, '');
  const to = places.get(now) ?? (isNew ? 0 : window.scrollY), end = Date.now() + PATIENCE_MS;
  coming = now;
  const step = () => {
    if (coming !== now) return;
    window.scrollTo(0, to);
    // Parts of the page may still load: then it is too short.
    if (Math.abs(window.scrollY - to) < 2 || Date.now() > end) arrive();
    else requestAnimationFrame(step);
  };
  step();
}
