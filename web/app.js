// SPDX-License-Identifier: MIT
//
// The collector's page. Names in reports come from anywhere: only textContent puts a text on the page.
'use strict';

const KEY = 'hangdog-key';
const DAYS = 30;
const CAUSES = {
  cpu: 'ran on a CPU', lock: 'waited for a lock', disk: 'waited for the disk', network: 'waited for the network',
  sleep: 'slept', child: 'waited for a child', 'page-fault': 'waited for memory from disk',
  starved: 'no CPU was free', ui: 'waited for the display', unknown: 'not known',
};
const view = { app: '', days: DAYS, turn: 0 };

// ---- elements ------------------------------------------------------------------------------------------------

// make('td.number', {title: 'x'}, 'text', child, ...)
function make(what, attributes, ...children) {
  const [tag, ...classes] = what.split('.');
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(' ');
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  for (const child of children) {
    if (child === null || child === undefined) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

function section(title, ...children) {
  return make('section', null, make('h2', null, title), ...children);
}

// columns: [{title, number, cell(row)}]
function table(columns, rows, caption, wide) {
  const head = make('tr', null, ...columns.map((c) => make(c.number ? 'th.number' : 'th', { scope: 'col' }, c.title)));
  const body = rows.map((row) => make('tr', null, ...columns.map((c, i) =>
    make(c.number ? 'td.number' : 'td', i > 0 && wide ? { 'data-label': c.title } : null, c.cell(row)))));
  return make('div.scroll', null, make(wide ? 'table.wide' : 'table', { 'aria-label': caption },
    make('thead', null, head), make('tbody', null, ...body)));
}

function bars(values, label) {
  const space = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(space, 'svg');
  const most = Math.max(1, ...values);
  svg.setAttribute('class', 'bars');
  svg.setAttribute('viewBox', `0 0 ${Math.max(1, values.length) * 4} 30`);
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', label);
  values.forEach((value, i) => {
    const bar = document.createElementNS(space, 'rect');
    const height = value > 0 ? Math.max(1.5, (value / most) * 30) : 0;
    bar.setAttribute('x', i * 4);
    bar.setAttribute('y', 30 - height);
    bar.setAttribute('width', 3);
    bar.setAttribute('height', height);
    svg.append(bar);
  });
  return svg;
}

// ---- figures -------------------------------------------------------------------------------------------------

function duration(ms) {
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60000) / 1000)} s`;
  if (minutes < 60 * 48) return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
  return `${Math.floor(minutes / 1440)} days`;
}

const moment = (ms) => new Date(ms).toLocaleString();
const day = (number) => new Date(number * 86400000).toLocaleDateString(undefined, { timeZone: 'UTC' });
const plural = (count, one, many) => `${count.toLocaleString()} ${count === 1 ? one : many}`;

function cause(kind) {
  return make('span.cause', { title: CAUSES[kind] || '' }, kind === 'unknown' ? 'not known' : kind, '');
}

function withCause(kind) {
  const element = cause(kind);
  if (kind in CAUSES) element.classList.add(kind);
  return element;
}

// One value for each of the last `count` days.
function byDay(rows, count) {
  const today = Math.floor(Date.now() / 86400000);
  const values = new Array(count).fill(0);
  for (const row of rows) {
    const at = count - 1 - (today - row.day);
    if (at >= 0 && at < count) values[at] += row.total_ms;
  }
  return values;
}

// ---- the server ----------------------------------------------------------------------------------------------

class Refused extends Error {}

async function get(path, asText) {
  const key = sessionStorage.getItem(KEY) || '';
  const answer = await fetch('/api/v1/' + path, { headers: { Authorization: 'Bearer ' + key } });
  if (answer.status === 401) throw new Refused();
  if (!answer.ok) {
    const body = await answer.json().catch(() => ({}));
    throw new Error(body.error || `the collector answers ${answer.status}`);
  }
  return asText ? answer.text() : answer.json();
}

// ---- views ---------------------------------------------------------------------------------------------------

const main = () => document.getElementById('main');

function show(title, crumbs, ...children) {
  document.title = title ? `${title} - Hangdog` : 'Hangdog';
  document.getElementById('crumbs').replaceChildren(...crumbs);
  main().replaceChildren(...children);
}

function showLoading() {
  show('', [], make('p.empty', { role: 'status' }, 'Loading ...'));
}

function showError(error) {
  show('Error', [], make('section.error', { role: 'alert' }, make('h1', null, 'This page cannot be shown'),
    make('p', null, error.message), make('button', { type: 'button', click: route }, 'Try again')));
}

function showKey(wrong) {
  const input = make('input', { type: 'password', id: 'key', autocomplete: 'off', size: 40, required: '' });
  const form = make('form', {
    submit: (event) => {
      event.preventDefault();
      sessionStorage.setItem(KEY, input.value.trim());
      route();
    },
  }, make('div.controls', null, make('div', null, make('label', { for: 'key' }, 'Key for reading'), input),
    make('button', null, 'Open')));
  show('Key', [], section('A key is needed', make('p', null, wrong ? 'The collector does not know this key. ' : '',
    'hangdog serve printed one at its first start; hangdog serve --new-key read makes another one.'), form));
  input.focus();
}

function figure(value, what) {
  return make('div.figure', null, make(String(value).length > 12 ? 'b.long' : 'b', null, value), make('span', null, what));
}

function groupName(group) {
  return make('div', null, make('a.code', { href: '#/group/' + group.fingerprint }, group.function),
    make('div.dim', null, [group.place, group.app].filter(Boolean).join(' · ')));
}

function choice(id, label, value, options, change) {
  const select = make('select', { id, change: (event) => change(event.target.value) },
    ...options.map(([v, text]) => make('option', v === value ? { value: v, selected: '' } : { value: v }, text)));
  return make('div', null, make('label', { for: id }, label), select);
}

function controls(all) {
  return make('div.controls', null,
    choice('app', 'App', view.app, [['', 'All apps'], ...all.apps.map((a) => [a.app, a.app])], (v) => { view.app = v; route(); }),
    choice('days', 'Time', String(view.days), [['1', 'Last day'], ['7', 'Last 7 days'], ['30', 'Last 30 days'], ['90', 'Last 90 days']],
      (v) => { view.days = Number(v); route(); }));
}

function versions(rows) {
  return table([
    { title: 'Version', cell: (r) => `${r.app} ${r.version || '(none)'}` },
    { title: 'Hangs', number: true, cell: (r) => r.count.toLocaleString() },
    { title: 'Lost', number: true, cell: (r) => duration(r.total_ms) },
    { title: 'Lost an hour of use', number: true, cell: (r) => (r.used_ms > 0 ? duration(Math.round(r.total_ms / r.used_ms * 3600000)) : 'not known') },
  ], rows, 'Versions');
}

function isNew(group) {
  return Date.now() - group.first_ms < 2 * 86400000;
}

function topHangs(all) {
  const days = new Map();
  for (const row of all.days) days.set(row.fingerprint, [...(days.get(row.fingerprint) || []), row]);
  return table([
    { title: 'Function', cell: groupName },
    { title: 'Cause', cell: (g) => withCause(g.cause) },
    { title: 'Lost', number: true, cell: (g) => duration(g.total_ms) },
    { title: 'Hangs', number: true, cell: (g) => g.count.toLocaleString() },
    { title: 'Users or runs', number: true, cell: (g) => g.users.toLocaleString() },
    { title: 'Worst', number: true, cell: (g) => duration(g.max_ms) },
    { title: 'Last', cell: (g) => make('span', null, moment(g.last_ms), isNew(g) ? make('b', null, ' new') : null) },
    { title: 'Trend', cell: (g) => bars(byDay(days.get(g.fingerprint) || [], Math.min(view.days, 30)), `Time lost a day in ${g.function}`) },
  ], all.groups, 'Hangs, the most time lost first', true);
}

async function overview() {
  const all = await get(`overview?days=${view.days}&app=${encodeURIComponent(view.app)}`);
  const lost = all.groups.reduce((sum, g) => sum + g.total_ms, 0);
  const hangs = all.groups.reduce((sum, g) => sum + g.count, 0);
  const used = all.used[0] || { used_ms: 0, runs: 0 };
  return ['Overview', [], [
    make('h1', null, 'Hangs'), controls(all),
    make('div.figures', null, figure(duration(lost), 'lost in hangs'), figure(hangs.toLocaleString(), 'hangs'),
      figure(all.groups.length.toLocaleString(), 'groups'), figure(used.runs.toLocaleString(), 'runs'),
      figure(used.used_ms > 0 ? duration(Math.round(lost / used.used_ms * 3600000)) : 'not known', 'lost an hour of use')),
    all.groups.length === 0
      ? make('section.empty', null, make('p', null, 'No hangs in this time.'), make('p', null, 'Send some: ', make('code', null, 'hangdog upload --to URL --key KEY')))
      : section('Most time lost', topHangs(all)),
    all.groups.length ? section('Time lost a day', bars(byDay(all.days, view.days), `Time lost on each of the last ${view.days} days`),
      make('p.dim', null, `${view.days} days, the last one is today`)) : null,
    all.versions.length ? section('Versions', versions(all.versions)) : null,
  ]];
}

// ---- one group -----------------------------------------------------------------------------------------------

const TREE_LEAST = 0.005;

function treeOf(nodes, total) {
  const children = new Map();
  nodes.forEach((node, i) => children.set(node.parent, [...(children.get(node.parent) || []), i]));
  let budget = 1500;
  const list = (parent, depth) => {
    const ids = (children.get(parent) || []).filter((i) => nodes[i].ms >= total * TREE_LEAST).sort((a, b) => nodes[b].ms - nodes[a].ms);
    if (!ids.length || budget <= 0 || depth > 400) return null;
    return make('ul', null, ...ids.map((i) => item(i, depth)));
  };
  const line = (i) => {
    const node = nodes[i];
    const share = total > 0 ? node.ms / total : 0;
    return [make('span.share', null, `${Math.min(100, Math.round(share * 100))}%`), make('meter', { min: 0, max: 1, value: Math.min(1, share), 'aria-hidden': 'true' }),
      make(node.own ? 'span.code.own' : 'span.code', null, node.name), node.place ? make('span.dim', null, ' ' + node.place) : null];
  };
  // A chain of single callees stays at one indent: deep stacks fit a phone.
  const item = (first, depth) => {
    const box = make('li');
    let i = first;
    for (;;) {
      budget -= 1;
      const below = (children.get(i) || []).filter((c) => nodes[c].ms >= total * TREE_LEAST);
      if (below.length !== 1 || budget <= 0) break;
      box.append(make('div.leaf', null, ...line(i)));
      i = below[0];
    }
    const under = list(i, depth + 1);
    box.append(under ? make('details', { open: '' }, make('summary', null, ...line(i)), under) : make('div.leaf', null, ...line(i)));
    return box;
  };
  return make('div.tree.scroll', null, list(-1, 0) || make('p.dim', null, 'No report of this group has a stack.'));
}

function steps(rows) {
  return table([
    { title: 'Duration', cell: (r) => `${duration(2 ** r.step)} to ${duration(2 ** (r.step + 1))}` },
    { title: 'Hangs', number: true, cell: (r) => r.count.toLocaleString() },
    { title: '', cell: (r) => make('meter', { min: 0, max: Math.max(...rows.map((x) => x.count)), value: r.count, 'aria-hidden': 'true' }) },
  ], rows, 'Durations');
}

function shares(title, rows, name) {
  return table([
    { title, cell: (r) => r[name] || '(none)' },
    { title: 'Hangs', number: true, cell: (r) => r.count.toLocaleString() },
    { title: 'Lost', number: true, cell: (r) => duration(r.total_ms) },
  ], rows, title);
}

function reportRows(rows) {
  return table([
    { title: 'When', cell: (r) => make('a', { href: '#/report/' + r.id }, moment(r.started_ms)) },
    { title: 'Duration', number: true, cell: (r) => duration(r.duration_ms) },
    { title: 'Kind', cell: (r) => (r.brief ? `${r.kind}, a repeat` : r.kind) },
    { title: 'Version', cell: (r) => r.version || '(none)' },
    { title: 'System', cell: (r) => r.system },
  ], rows, 'Newest reports', true);
}

async function group(id) {
  const [one, stack] = await Promise.all([get('groups/' + id), get(`groups/${id}/stack`)]);
  const owner = one.by_owner ? make('p', null, 'These hangs waited for a lock. They are grouped by what its owner did: it was in ', make('code', null, one.function), '.') : null;
  return [one.function, ['› ', make('span.code', null, one.function)], [
    make('h1', null, make('span.code', null, one.function)),
    make('p.dim', null, [one.place, one.app].filter(Boolean).join(' · ')),
    make('p', null, withCause(one.cause), ': ', CAUSES[one.cause] || ''), owner,
    make('div.figures', null, figure(duration(one.total_ms), 'lost'), figure(one.count.toLocaleString(), 'hangs'), figure(one.users.toLocaleString(), 'users or runs'),
      figure(duration(one.max_ms), 'worst'), figure(moment(one.first_ms), 'first'), figure(moment(one.last_ms), 'last')),
    section('Where the time went', make('p.dim', null, `${plural(stack.reports, 'report', 'reports')}, merged by time; functions of the app are set off`), treeOf(stack.nodes, stack.total_ms)),
    make('div.columns', null, section('Versions', shares('Version', one.versions, 'version')), section('Systems', shares('System', one.systems, 'system')),
      section('Durations', steps(one.durations)),
      section('Time lost a day', bars(byDay(one.days, DAYS), `Time lost on each of the last ${DAYS} days`), make('p.dim', null, `${DAYS} days, the last one is today`))),
    section('Reports', reportRows(one.reports)),
    section('Why these are one group', make('p.dim', null, 'Reports with the same lines here are of one group.'), make('pre', { tabindex: 0 }, one.path)),
  ]];
}

// ---- one report ----------------------------------------------------------------------------------------------

async function report(id) {
  const [text, json] = await Promise.all([get(`reports/${id}/text`, true), get('reports/' + id)]);
  const raw = JSON.stringify(json, null, 2);
  const download = make('button', {
    type: 'button',
    click: () => {
      const link = make('a', { href: URL.createObjectURL(new Blob([raw], { type: 'application/json' })), download: id + '.json' });
      link.click();
      URL.revokeObjectURL(link.href);
    },
  }, 'Download the JSON');
  return ['Report', ['› report ', make('span.code', null, id.slice(-6))], [
    make('h1', null, 'Report ', make('span.code', null, id)),
    section('As hangdog show prints it', make('pre', { tabindex: 0 }, text)),
    section('JSON', make('p', null, download), make('details', null, make('summary', null, 'Show the JSON'), make('pre', { tabindex: 0 }, raw.slice(0, 200000)))),
  ]];
}

// ---- addresses -----------------------------------------------------------------------------------------------

// The key comes once, behind the #: browsers do not send that part. It leaves the address at once.
function takeKey() {
  const match = /^#key=([\w-]+)$/.exec(location.hash);
  if (match) {
    sessionStorage.setItem(KEY, match[1]);
    history.replaceState(null, '', location.pathname + '#/');
  }
}

async function route() {
  const turn = ++view.turn;
  takeKey();
  const [, kind, id] = /^#\/(?:(group|report)\/([0-9a-f-]+))?/.exec(location.hash) || [];
  if (location.hash === '#main') return;
  showLoading();
  try {
    const [title, crumbs, children] = await (kind === 'group' ? group(id) : kind === 'report' ? report(id) : overview());
    if (turn !== view.turn) return;
    show(title, crumbs, ...children.filter(Boolean));
    window.scrollTo(0, 0);
  } catch (error) {
    if (turn !== view.turn) return;
    if (error instanceof Refused) showKey(sessionStorage.getItem(KEY) !== null);
    else showError(error);
  }
}

window.addEventListener('hashchange', route);
route();
