import type { ConsoleDeps } from './deps.ts';
import { homeRoutes } from './pages/home.ts';
import { meRoutes } from './pages/me.ts';
import { peopleRoutes } from './pages/people.ts';
import type { ConsoleRoutes } from './server.ts';

/** Every page there is; each names the action that it takes. */
export function consoleRoutes(deps: ConsoleDeps): ConsoleRoutes {
  const parts = [homeRoutes(deps), meRoutes(deps), peopleRoutes(deps)];
  return { read: parts.flatMap(({ read }) => read), change: parts.flatMap(({ change }) => change) };
}
