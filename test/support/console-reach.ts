import { consoleRoutes } from '../../src/console/routes.ts';
import { routeOf } from './console-pages.ts';

/** What a person at the console is answered, and the address where redirects ended. */
export type Ask = (path: string) => Promise<{ readonly status: number; readonly url: string; readonly text: string }>;

export interface Reach {
  /** The page that was seen of each route. */
  readonly pages: ReadonlyMap<string, string>;
  /** Links that lead nowhere, and buttons that the person may not press, each with the page that shows it. */
  readonly deadEnds: readonly string[];
}

interface Step {
  readonly to: string;
  /** The page that leads there. */
  readonly on: string;
  readonly isForm: boolean;
}

/** Each kind of page is read this often, since two payments show different buttons. */
const PAGES_OF_A_KIND = 6;

/** Paths that differ only in what they show. */
const kindOf = (path: string): string => {
  const { pathname } = new URL(path, 'http://console');
  return routeOf(pathname) ?? pathname.replaceAll(/[a-z]+_\w{16,}|\d{4}-\d\d/g, ':id');
};

const ROUTES = consoleRoutes({} as Parameters<typeof consoleRoutes>[0]);
const CHANGES = ROUTES.change.map(({ path, action }) => ({
  path,
  action,
  matches: new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`),
}));

/** What a page takes. */
export const actionOf = (route: string): string | null =>
  ROUTES.read.find(({ path }) => path === route)?.action ?? null;

const unescaped = (text: string): string => text.replaceAll('&amp;', '&').replaceAll('&#39;', "'");
const linksIn = (text: string): string[] =>
  [...text.matchAll(/\s(?:href|src)="(\/[^"#]*)/g)].map(([, path]) => unescaped(path!));
const formsIn = (text: string, method: 'post' | 'get'): string[] =>
  [...text.matchAll(/<form\b[^>]*>/g)]
    .filter(([tag]) => tag.includes(`method="${method}"`))
    .flatMap(([tag]) => /\saction="(\/[^"]*)"/.exec(tag)?.[1] ?? []);

/** Follows every link from the first page as one person, and judges every form that they are shown. */
export async function reachOf(ask: Ask, may: (action: string | null) => boolean): Promise<Reach> {
  const pages = new Map<string, string>();
  const deadEnds: string[] = [];
  const read = new Map<string, number>();
  const asked = new Set<string>();
  const waiting: Step[] = [{ to: '/', on: 'no page', isForm: false }];
  for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
    const kind = kindOf(step.to);
    const times = read.get(kind) ?? 0;
    if (asked.has(step.to) || times >= PAGES_OF_A_KIND) continue;
    asked.add(step.to);
    read.set(kind, times + 1);
    const { status, url, text } = await ask(step.to);
    // A form that needs a field says so.
    if (status !== 200 && !(step.isForm && status === 400)) deadEnds.push(`${step.on} leads to ${step.to}: ${status}`);
    const on = new URL(url).pathname;
    const route = routeOf(on);
    if (route === undefined || status !== 200) continue;
    if (!pages.has(route)) pages.set(route, step.to);
    for (const action of formsIn(text, 'post')) {
      const change = CHANGES.find(({ matches }) => matches.test(action));
      if (change === undefined || !may(change.action)) deadEnds.push(`${on} offers ${action}`);
    }
    for (const to of linksIn(text)) waiting.push({ to, on, isForm: false });
    for (const to of formsIn(text, 'get')) waiting.push({ to, on, isForm: true });
  }
  return { pages, deadEnds: [...new Set(deadEnds)] };
}
