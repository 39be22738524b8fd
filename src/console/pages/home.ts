import type { ConsoleDeps } from '../deps.ts';
import { merchantPath } from '../layout.ts';
import type { ConsoleRoutes } from '../server.ts';
import { merchantsOf } from './merchants.ts';

/** Redirects to the first page that is useful to the person. */
export function homeRoutes(deps: ConsoleDeps): ConsoleRoutes {
  return {
    change: [],
    read: [
      {
        path: '/',
        action: null,
        show: async (visit) => {
          if (visit.can('attention.read')) return { to: '/attention' };
          const [only, ...others] = merchantsOf(deps, visit);
          return { to: only && others.length === 0 ? merchantPath(only) : only ? '/merchants' : '/me' };
        },
      },
    ],
  };
}
