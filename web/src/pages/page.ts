// SPDX-License-Identifier: MIT
import type { Child } from '../dom/element';
import type { Route } from '../router';

export interface View { title: string; crumbs?: Child[]; content: Child[] }
export type Page = (route: Route) => Promise<View>;
