// SPDX-License-Identifier: MIT
//
// The key of this tab, and where it stays. Usually it ends with the tab. Where the user chose to stay signed in, it is in the browser's
// storage of this address. A new tab without a key requests it of the other tabs of the same address: so links open in new tabs.

const NAME = 'hangdog-key';
const WAIT_MS = 250;

type Message = { wants: true } | { key: string } | { forget: true };
let refused = false; // the collector does not know this tab's key
let forgotten: () => void = () => {};
let took: (text: string) => void = () => {};
const tabs = typeof BroadcastChannel === 'function' ? new BroadcastChannel(NAME) : null;

export const key = () => sessionStorage.getItem(NAME) || localStorage.getItem(NAME);
export const stays = () => localStorage.getItem(NAME) !== null;

/** `stay`: after the tab and the browser are closed, too. */
export function setKey(text: string, stay = false): void {
  refused = false;
  if (stay) localStorage.setItem(NAME, text);
  if (stay) sessionStorage.removeItem(NAME);
  else sessionStorage.setItem(NAME, text);
}

/** The key of this tab stays from now on, or ends with the tab. */
export function setStay(stay: boolean): void {
  const text = key();
  localStorage.removeItem(NAME);
  if (text) setKey(text, stay);
}

/** Of all tabs. */
export function signOut(): void {
  sessionStorage.removeItem(NAME);
  localStorage.removeItem(NAME);
  tabs?.postMessage({ forget: true } satisfies Message);
}

/** No other tab gets a key that the collector refused. */
export const keyIsRefused = () => { refused = true; };

/** Once, at the start: `then` runs where another tab signs out. */
export function shareKey(then: () => void): void {
  forgotten = then;
  tabs?.addEventListener('message', (event: MessageEvent<Message>) => {
    const text = key();
    if ('wants' in event.data) {
      if (text && !refused) tabs.postMessage({ key: text } satisfies Message);
    } else if ('forget' in event.data) {
      sessionStorage.removeItem(NAME);
      forgotten();
    } else took(event.data.key);
  });
}

/** Takes the key of another tab, if this one has none and another answers soon. */
export function keyOfAnotherTab(): Promise<void> {
  if (key() || !tabs) return Promise.resolve();
  return new Promise((done) => {
    const end = setTimeout(done, WAIT_MS);
    took = (text) => {
      if (!key()) setKey(text);
      clearTimeout(end);
      took = () => {};
      done();
    };
    tabs.postMessage({ wants: true } satisfies Message);
  });
}
