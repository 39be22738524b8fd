import { html } from '../../runtime/util/html.ts';
import type { ConsoleDeps } from '../deps.ts';
import { merchantPath } from '../layout.ts';
import { badge, link, table } from '../parts.ts';
import type { ConsoleRoutes } from '../server.ts';
import { NO_SUCH, type ShownMerchant, type Visit } from '../visit.ts';

/** The first page that each person has use for. */
export function homeRoutes(deps: ConsoleDeps): ConsoleRoutes {
  const own = (visit: Visit): ShownMerchant[] => deps.merchants().filter(({ id }) => visit.can('payments.read', id));
  return {
    change: [],
    read: [
      {
        path: '/',
        action: null,
        show: async (visit) => {
          if (visit.can('attention.read')) return { to: '/attention' };
          const [only, ...others] = own(visit);
          return { to: only && others.length === 0 ? merchantPath(only) : only ? '/merchants' : '/me' };
        },
      },
      {
        path: '/merchants',
        action: null,
        show: async (visit) => {
          const found = own(visit);
          if (found.length === 0) throw NO_SUCH();
          return {
            page: { title: 'Merchants', body: html`${table('Merchants', COLUMNS, found, 'No merchant yet.')}` },
          };
        },
      },
    ],
  };
}

const COLUMNS = [
  { name: 'Name', cell: (merchant: ShownMerchant) => link(merchantPath(merchant), merchant.name) },
  { name: 'Mode', cell: ({ mode }: ShownMerchant) => badge(mode) },
  { name: 'Id', cell: ({ id }: ShownMerchant) => id },
];
