// SPDX-License-Identifier: MIT
//
// One report: the view that the file of `hangdog show --html` has, too, and the report in other programs' forms.

import * as api from '../api';
import { make, save } from '../dom/element';
import { kindText } from '../parts/marks';
import { section } from '../parts/states';
import { reportView } from '../pictures/report_view';
import type { Route } from '../router';
import { FORMATS } from '../words';
import type { View } from './page';

function downloads(id: string): HTMLElement {
  const error = make('p.state.error', { role: 'alert', hidden: true });
  const bring = async (format: string, suffix: string) => {
    error.hidden = true;
    try {
      save(await api.reportAs(id, format), `hangdog-${id.slice(0, 8)}${suffix}`);
    } catch (problem) {
      error.textContent = `The collector does not give this form: ${problem instanceof Error ? problem.message : String(problem)}.`;
      error.hidden = false;
    }
  };
  return section('For other programs', make('div.controls', { role: 'group', 'aria-label': 'Downloads' },
    ...FORMATS.map(({ name, label, suffix }) => make('button', { type: 'button', click: () => void bring(name, suffix) }, label))), error);
}

export async function report(route: Route): Promise<View> {
  const [one, text] = await Promise.all([api.report(route.id), api.reportText(route.id).catch(() => '')]);
  return {
    title: kindText(String(one.kind || '')) + ' report',
    crumbs: ['report ', make('span.code', null, route.id.slice(0, 8))],
    content: [...reportView(one, { text }), downloads(route.id)],
  };
}
