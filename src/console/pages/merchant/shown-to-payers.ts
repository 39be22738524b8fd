import { hash } from 'node:crypto';
import { readLogo } from '../../../features/merchants/logo.ts';
import { accepted, changedBy, readerOf, type ConsoleDeps } from '../../deps.ts';
import { merchantPath } from '../../layout.ts';
import {
  NO_SUCH,
  reasonIn,
  Refused,
  type ChangeRoute,
  type ToSign,
  type Visit,
  merchantNamed,
  merchantOf,
} from '../../visit.ts';
import { words } from '../../words.ts';

/*
 * What tells payers whose page they are on: a logo and the hosts of shops. Whoever changes them signs the new values.
 */

const terms = (visit: Visit, title: string, ...lines: (readonly [string, string])[]): ToSign => ({
  ...{ kind: 'terms', title },
  lines: [...Object.entries(merchantNamed(visit)), ...lines, ['reason', reasonIn(visit)]],
});

export const logoChange = ({ settings }: ConsoleDeps): ChangeRoute => ({
  path: '/m/:merchant/settings/logo',
  action: 'settings.change',
  target: (visit) => merchantOf(visit).name,
  toSign: async (visit) => terms(visit, 'set the logo of a merchant', ['logo', pictureIn(visit)]),
  run: async (visit) => {
    const { logo } = accepted(
      await settings.setLogo(merchantOf(visit).id, visit.form['image'] || null, changedBy(visit)),
    );
    const detail = logo === null ? 'no logo' : `logo of ${logo.width} by ${logo.height} pixels`;
    return { detail, shown: { to: `${merchantPath(merchantOf(visit))}/settings?done=logo` } };
  },
});

/** The chosen file, which the signed terms name, so that nobody can set another one. Throws `Refused`. */
function pictureIn({ form }: Visit): string {
  const image = form['image'] ?? '';
  if (image === '') return 'none: it is taken away';
  const read = readLogo(image);
  if (!read.ok) throw new Refused(words`logo ${read.why}`);
  const file = Buffer.from(image, 'base64');
  return `a PNG file of ${file.length} bytes, SHA-256 ${hash('sha256', file, 'hex')}, shown as ${read.logo.width} by ${read.logo.height} pixels`;
}

export function domainChanges({ settings }: ConsoleDeps): ChangeRoute[] {
  const done = (visit: Visit, detail: string) => ({
    detail,
    shown: { to: `${merchantPath(merchantOf(visit))}/settings?done=domain` },
  });
  const domainsOf = (visit: Visit) => settings.getMerchant(readerOf(visit).merchantId)?.domains ?? [];
  const named = (list: readonly { readonly host: string; readonly name: string }[]): string =>
    list.map(({ host, name }) => `${host} (${name})`).join(', ') || 'none';
  const added = ({ form }: Visit) => ({ host: form['host'] ?? '', name: form['name'] ?? '' });
  return [
    {
      path: '/m/:merchant/settings/domains',
      action: 'settings.change',
      target: ({ form }) => form['host'] ?? '',
      toSign: async (visit) =>
        terms(
          visit,
          'add a domain to a merchant',
          ['added', named([added(visit)])],
          ['domains until now', named(domainsOf(visit))],
        ),
      run: async (visit) => {
        const { host, domain_id: id } = accepted(
          await settings.addDomain(merchantOf(visit).id, added(visit), changedBy(visit)),
        );
        return done(visit, `${host} ${id}`);
      },
    },
    {
      path: '/m/:merchant/settings/domains/remove',
      action: 'settings.change',
      target: ({ form }) => form['domain'] ?? '',
      toSign: async (visit) => {
        const removed = domainsOf(visit).filter(({ domain_id: id }) => id === visit.form['domain']);
        if (removed.length === 0) throw NO_SUCH();
        return terms(
          visit,
          'remove a domain of a merchant',
          ['removed', named(removed)],
          ['domains until now', named(domainsOf(visit))],
        );
      },
      run: async (visit) => {
        accepted(await settings.removeDomain(merchantOf(visit).id, visit.form['domain'] ?? '', changedBy(visit)));
        return done(visit, 'removed');
      },
    },
  ];
}
