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
          const all = own(visit);
          const isOfService = visit.person.grants.some(({ merchantId }) => merchantId === null);
          if (all.length === 0 && !isOfService) throw NO_SUCH();
          const found = isOfService ? all.filter(({ mode }) => mode === visit.mode) : all;
          const empty = `No merchant in ${visit.mode} mode yet.`;
          return { page: { title: 'Merchants', body: table('Merchants', COLUMNS, found, empty) } };
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
