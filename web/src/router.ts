// SPDX-License-Identifier: MIT
//
// Addresses: what is behind the # names the page, its subject and its choices, so a link shows the same again.
//   #/  #/group/ID  #/report/ID  #/compare  #/reports  #/origins  #/search  #/settings, each with ?name=value

export interface Route { page: string; id: string; choices: URLSearchParams }

export function parse(hash: string): Route {
  const [path, query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [page = '', id = ''] = path.split('/');
  let plain = '';
  try {
    plain = decodeURIComponent(id);
  } catch {
    // an address that a person has cut
  }
  return { page: page || 'overview', id: plain, choices: new URLSearchParams(query) };
}

export function address(page: string, id = '', choices: Record<string, string | number | undefined> = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(choices)) if (value !== undefined && value !== '') query.set(name, String(value));
  const text = query.toString();
  return '#/' + (page === 'overview' ? '' : page) + (id ? '/' + encodeURIComponent(id) : '') + (text ? '?' + text : '');
}

export const go = (to: string) => { location.hash = to; };

// The same page with other choices; an empty one is left out.
export function change(route: Route, choices: Record<string, string | number>): void {
  const all: Record<string, string | number> = { ...Object.fromEntries(route.choices), ...choices };
  go(address(route.page, route.id, all));
}

export const offsetOf = (route: Route) => Math.max(0, Math.floor(Number(route.choices.get('offset')) || 0));
export const appOf = (route: Route) => route.choices.get('app') || '';
export function daysOf(route: Route): number {
  const days = Number(route.choices.get('days') || 30);
  return Number.isInteger(days) && days > 0 && days <= 400 ? days : 30;
}
