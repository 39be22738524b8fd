import type { Page } from 'playwright-core';
import { consoleRoutes } from '../../src/console/routes.ts';

/** Answers with a file, sends on to another page, or is only led to by a form. */
const NO_PAGES = /\.(?:csv|jsonl|json)$|^\/audit\/proof$|^\/me\/zone$|^\/books$|^\/search$/;

/** The paths of all pages, as routes name them. Routes are made of functions, which nobody calls here. */
const ROUTES_OF_PAGES: readonly string[] = consoleRoutes({} as Parameters<typeof consoleRoutes>[0])
  .read.map(({ path }) => path)
  .filter((path) => !NO_PAGES.test(path));

const MATCHES = ROUTES_OF_PAGES.map((route) => ({
  route,
  // A path with fewer parameters comes first: `/links/new` is no link.
  parameters: route.split(':').length,
  matches: new RegExp(`^${route.replaceAll(/:\w+/g, '[^/]+')}$`),
})).toSorted((one, other) => one.parameters - other.parameters);

export const routeOf = (path: string): string | undefined =>
  NO_PAGES.test(path) ? undefined : MATCHES.find(({ matches }) => matches.test(path))?.route;

/**
 * Follows links, as a person does, until each route was seen once; answers those that no link leads to. Links to what
 * is new are followed in the order in which they stand.
 */
export async function eachPage(
  page: Page,
  origin: string,
  look: (route: string, path: string) => Promise<void>,
  first: readonly string[] = ['/', '/merchants', '/books/test'],
): Promise<string[]> {
  const seen = new Set<string>();
  const waiting = [...first];
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    const route = routeOf(new URL(path, origin).pathname);
    if (route === undefined || seen.has(route)) continue;
    seen.add(route);
    await page.goto(origin + path);
    const links = await page
      .locator('a[href^="/"]')
      .evaluateAll((all) => all.map((link) => link.getAttribute('href')!));
    waiting.push(...links);
    await look(route, path);
  }
  return ROUTES_OF_PAGES.filter((route) => !seen.has(route));
}

/** The pages that none of these paths opens, as routes name them. */
export function routesWithout(paths: readonly string[]): string[] {
  const found = new Set(paths.map((path) => routeOf(new URL(path, 'http://console').pathname)));
  return ROUTES_OF_PAGES.filter((route) => !found.has(route));
}
