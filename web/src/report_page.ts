// SPDX-License-Identifier: MIT
//
// The file of `hangdog show --html`: the page of one report, which is in the file itself.
import './style/app.css';
import './style/parts.css';
import './pictures/pictures.css';
import { reportView } from './pictures/report_view';
import { cleanName } from './pictures/text';
import { looseObject } from './pictures/tree';

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

function show(): void {
  const main = document.getElementById('main');
  const content = looseObject(JSON.parse(document.getElementById('report')?.textContent ?? '{}'));
  const named = text(content.function);
  main?.replaceChildren(...reportView(content.report, { text: text(content.text), function: named, place: text(content.place) }));
  document.title = named ? `${cleanName(named, 80)} - Hangdog report` : 'Hangdog report';
}

document.addEventListener('DOMContentLoaded', show);
