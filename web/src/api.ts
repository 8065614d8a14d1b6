// SPDX-License-Identifier: MIT
//
// The collector's answers, typed. The key goes in a header: no other page can use it.

import { key } from './key';
import type { Compare, Found, Group, GroupChoice, Groups, Key, KindRow, Origins, Overview, ReportRow, Settings, State, Versions } from './types';

export class Refused extends Error {}
export class Missing extends Error {}

async function request(path: string, method = 'GET', body?: unknown): Promise<Response> {
  const headers: Record<string, string> = { Authorization: 'Bearer ' + (key() || '') };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let answer: Response;
  try {
    answer = await fetch('api/v1/' + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new Error('the collector does not answer');
  }
  if (answer.ok) return answer;
  const why = await answer.json().catch(() => ({})) as { error?: string };
  const text = why.error || `the collector answers ${answer.status}`;
  throw answer.status === 401 ? new Refused(text) : answer.status === 404 ? new Missing(text) : new Error(text);
}

async function get<T>(path: string, parameters: Record<string, string | number | undefined> = {}): Promise<T> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined && value !== '') query.set(name, String(value));
  const text = query.toString();
  return (await request(text ? `${path}?${text}` : path)).json() as Promise<T>;
}

const name = encodeURIComponent;

export const overview = (choice: GroupChoice) => get<Overview>('overview', { ...choice });
export const groups = (choice: GroupChoice) => get<Groups>('groups', { ...choice });
export const versions = (app: string) => get<Versions>('versions', { app });
export const group = (id: string) => get<Group>('groups/' + name(id));
export const setGroup = (id: string, change: { state?: State; note?: string }) => request('groups/' + name(id), 'POST', change);
export const groupReports = (id: string, offset: number, version: string) =>
  get<{ reports: ReportRow[] }>(`groups/${name(id)}/reports`, { offset, version });

export const stack = (id: string, version: string) => get<{ reports: number; total_ms: number }>(`groups/${name(id)}/stack`, { version });

export const report = (id: string) => get<{ kind?: string }>('reports/' + name(id));
export const reportText = async (id: string) => (await request(`reports/${name(id)}/text`)).text();
export const reportAs = async (id: string, format: string) => (await request(`reports/${name(id)}/export/${format}`)).blob();
export const compare = (app: string, from: string, to: string) => get<Compare>('compare', { app, from, to });
export const search = (q: string, app: string, offset: number) => get<Found>('search', { q, app, offset });
export const origins = (part: string, app: string, offset: number) => get<Origins>('origins', { part, app, offset });
export const kinds = (app: string, days: number) => get<KindRow[]>('kinds', { app, days });
export const reports = (kind: string, app: string, days: number, offset: number) =>
  get<{ reports: ReportRow[] }>('reports', { kind, app, days, offset });

export const me = () => get<{ use: 'read' | 'admin' }>('me');
export const keys = () => get<Key[]>('keys');
export const addKey = async (app: string, use: string) => (await request('keys', 'POST', { app, use })).json() as Promise<{ key: string }>;
export const removeKey = (id: number | string) => request('keys/' + name(String(id)), 'DELETE');
export const settings = () => get<Settings>('settings');
export const setSettings = (change: { retention_days: number; limits: Settings['limits'] }) => request('settings', 'POST', change);
