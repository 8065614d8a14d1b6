// SPDX-License-Identifier: MIT
//
// Keys, limits, retention and grouping. A key for administering may change them.

import * as api from '../api';
import { setStay, signOut, stays } from '../key';
import { make, type Child } from '../dom/element';
import { table } from '../dom/table';
import { count, moment, named } from '../parts/format';
import { choice } from '../parts/marks';
import { empty, failed, loaded, say, section } from '../parts/states';
import type { Key, Settings } from '../types';
import type { View } from './page';

const USES: [string, string][] = [['send', 'send reports'], ['read', 'read'], ['admin', 'administer']];
const useText = (use: string) => USES.find(([name]) => name === use)?.[1] || use;

const reload = () => window.dispatchEvent(new Event('hashchange'));

function removeButton(key: Key): HTMLElement {
  const button = make<HTMLButtonElement>('button.danger', { type: 'button', 'aria-label': `Remove key ${key.id} of ${named(key.app)}` }, 'Remove');
  let sure = false;
  button.addEventListener('click', async () => {
    if (!sure) {
      sure = true;
      button.textContent = 'Remove it for good?';
      return;
    }
    try {
      await api.removeKey(key.id);
      say('The key is removed');
      reload();
    } catch (error) {
      button.replaceWith(failed(error, reload));
    }
  });
  return button;
}

function keyTable(keys: Key[]): HTMLElement {
  return table('Keys', [
    { title: 'Key', cell: (k: Key) => make('span.code', null, String(k.id)) },
    { title: 'App', cell: (k) => k.app || 'all apps' },
    { title: 'May', cell: (k) => useText(k.use) },
    { title: 'Made', cell: (k) => moment(k.made_ms) },
    { title: 'Last used', cell: (k) => (k.last_used_ms ? moment(k.last_used_ms) : 'never') },
    { title: 'Remove', hidden: true, cell: (k) => removeButton(k) },
  ], keys, { wide: true });
}

function newKey(): HTMLElement {
  let use = 'send';
  const app = make<HTMLInputElement>('input', { id: 'key-app', maxlength: 100, autocomplete: 'off' });
  const answer = make('div', { role: 'status' });
  const form = make('form', null, make('div.controls', null,
    make('div.field', null, make('label', { for: 'key-app' }, 'App of a key that sends (empty: all)'), app),
    choice('key-use', 'It may', use, USES, (value) => { use = value; app.disabled = use !== 'send'; }), make('button', null, 'Make a key')));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    try {
      const made = await api.addKey(app.disabled ? '' : app.value.trim(), use);
      answer.replaceChildren(make('p', null, 'The new key, shown this once: ', make('code.secret', null, made.key)),
        make('button', { type: 'button', click: reload }, 'I have it'));
    } catch (error) {
      answer.replaceChildren(failed(error, () => answer.replaceChildren()));
    }
  });
  return make('div', null, make('h3', null, 'New key'), form, answer);
}

function numberField(id: string, label: string, value: number): { field: HTMLElement; input: HTMLInputElement } {
  const input = make<HTMLInputElement>('input', { id, type: 'number', min: 0, step: 1, required: true });
  input.value = String(value);
  return { field: make('div.field', null, make('label', { for: id }, label), input), input };
}

// What a change of the retention removes at once; empty: nothing.
function removal(before: number, after: number): string {
  return after > 0 && (before === 0 || after < before)
    ? `Reports older than ${count(after)} ${after === 1 ? 'day' : 'days'} will be removed for good${before > 0 ? `; ${count(before)} days were kept until now` : ''}.` : '';
}

// What the options of `hangdog serve` say, which this page cannot change.
function optionWords(now: Settings): Child {
  const mib = now.options?.limit_mib || 0, rate = now.options?.rate || 0;
  return make('div', null,
    make('p.dim', null, mib > 0 ? `The store may take ${count(mib)} MiB. A full one refuses reports, and programs send them later. ` : 'The store may take as much of the disk as there is. ',
      make('code', null, 'hangdog serve --limit MIB'), ' sets it.'),
    rate > 0 ? make('p.dim', null, `This collector was started with --rate ${count(rate)}: it takes ${count(rate * 60)} reports a minute for each key, whatever is above.`) : null);
}

function limits(now: Settings, admin: boolean): Child[] {
  const retention = numberField('retention', 'Keep reports for (days; 0: for good)', now.retention_days);
  const minute = numberField('per-minute', 'Reports a minute for each key', now.limits.reports_per_minute);
  const daily = numberField('per-day', 'Reports a day for each key', now.limits.reports_per_day);
  const bug = numberField('per-bug', 'Reports a minute of one bug', now.limits.group_reports_per_minute);
  const size = numberField('size', 'Bytes of a report', now.limits.report_bytes);
  const all = [retention, minute, daily, bug, size];
  for (const one of all) one.input.disabled = !admin;
  const answer = make('div', { role: 'status' });
  let kept = now.retention_days;
  const save = async () => {
    try {
      await api.setSettings({ retention_days: Number(retention.input.value), limits: {
        reports_per_minute: Number(minute.input.value), reports_per_day: Number(daily.input.value),
        group_reports_per_minute: Number(bug.input.value), report_bytes: Number(size.input.value) } });
      kept = Number(retention.input.value);
      answer.replaceChildren(make('p', null, 'Saved.'));
    } catch (error) {
      answer.replaceChildren(failed(error, () => answer.replaceChildren()));
    }
  };
  const form = make('form', null, make('div.controls', null, ...all.map((one) => one.field), admin ? make('button', null, 'Save') : null));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const gone = removal(kept, Number(retention.input.value));
    if (!gone) {
      void save();
      return;
    }
    const sure = make('button.danger', { type: 'button', click: () => void save() }, 'Remove them and save');
    answer.replaceChildren(make('p.bad', null, gone), make('div.controls', null, sure,
      make('button', { type: 'button', click: () => { retention.input.value = String(kept); answer.replaceChildren(); } }, 'Keep them')));
    sure.focus();
  });
  return [make('p.dim', null, 'A limit of 0 is none.'), form, answer, optionWords(now), make('h3', null, 'Grouping'),
    make('p', null, `Reports are grouped by version ${now.grouping_version} of the rules. `, 'Each group’s page says which lines its reports have in common.'),
    make('p.dim', null, 'After an update of the rules: ', make('code', null, 'hangdog serve --regroup'))];
}

// The key of this browser.
function signedIn(): HTMLElement {
  const stay = make<HTMLInputElement>('input', { type: 'checkbox', id: 'stay' });
  stay.checked = stays();
  stay.addEventListener('change', () => setStay(stay.checked));
  return make('div', null, make('div.check', null, stay, make('label', { for: 'stay' }, 'Stay signed in on this computer')),
    make('p.dim', null, 'Any user of this browser profile can then read the reports. Without it the key ends with the last tab of this page.'),
    make('button', { type: 'button', click: () => { signOut(); reload(); } }, 'Sign out'));
}

export async function settings(): Promise<View> {
  const me = await api.me().catch((error) => { if (error instanceof api.Refused) throw error; return { use: 'read' }; });
  const admin = me.use === 'admin';
  return {
    title: 'Settings',
    content: [make('h1', null, 'Settings'),
      section('Your key', make('p', null, `Your key may ${admin ? 'read and administer' : 'read'}. `,
        admin ? '' : 'A key for administering changes what is on this page: hangdog serve --new-key admin makes one.'), signedIn()),
      admin ? section('Keys', loaded('the keys', api.keys, (keys) => [keys.length ? keyTable(keys) : empty(make('p', null, 'No keys.')), newKey()])) : null,
      section('Limits, retention and grouping', loaded('the limits', api.settings, (now) => limits(now, admin)))],
  };
}
