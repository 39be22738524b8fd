import { html, type Html } from '../../../runtime/http/html.ts';
import type { MerchantOverview, PendingChangeOverview } from '../../../features/merchants/overview.ts';
import { accepted, changedBy, type ConsoleDeps } from '../../deps.ts';
import { merchantPath } from '../../layout.ts';
import { changeForm, field, REASON, table, time, spelled } from '../../parts.ts';
import { reasonIn, type ChangeRoute, type Visit, merchantOf } from '../../visit.ts';
import { words } from '../../words.ts';

/** The delayed changes of a merchant, with request time and effective time; empty if there are none. */
export function waitingChanges(
  visit: Visit,
  { pending_changes: waiting = [] }: Partial<MerchantOverview>,
): Html | null {
  if (waiting.length === 0) return null;
  const may = visit.can('settings.change', merchantOf(visit).id);
  return html`<h2>${words`Pending changes`}</h2>
    <p>
      ${words`The old URL was told of each. They take effect by themselves. Withdraw any that you did not request, and revoke
      the key that requested it.`}
    </p>
    ${table(
      words`Pending changes`,
      [
        { name: words`Of`, cell: ({ setting }) => spelled(setting) },
        { name: words`To`, cell: ({ change }) => inWords(change) },
        { name: words`Requested by`, cell: ({ requested_by: by }) => by },
        { name: words`Since`, cell: ({ requested_at: sec }) => time(sec, visit) },
        { name: words`Takes effect`, cell: ({ takes_effect_at: sec }) => time(sec, visit) },
        { name: words`Withdraw`, cell: ({ change_id: id }) => (may ? withdrawForm(visit, id) : null) },
      ],
      waiting,
      words``,
    )}`;
}

const inWords = (change: PendingChangeOverview['change']): string =>
  Object.entries(change)
    .map(
      ([name, value]) =>
        `${name.replaceAll('_', ' ')}: ${Array.isArray(value) ? value.join(', ') || 'none' : wordOf(value)}`,
    )
    .join('; ');

const wordOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const withdrawForm = (visit: Visit, id: string): Html =>
  changeForm(
    visit,
    `${merchantPath(merchantOf(visit))}/settings/changes/withdraw`,
    [html`<input type="hidden" name="change" value="${id}" />`, field(REASON)],
    words`Withdraw`,
    'danger',
  );

export const withdrawal = ({ settings }: ConsoleDeps): ChangeRoute => ({
  path: '/m/:merchant/settings/changes/withdraw',
  action: 'settings.change',
  target: ({ form }) => form['change'] ?? '',
  run: async (visit) => {
    reasonIn(visit);
    accepted(await settings.withdrawChange(merchantOf(visit).id, visit.form['change'] ?? '', changedBy(visit)));
    return { detail: 'withdrawn', shown: { to: `${merchantPath(merchantOf(visit))}/settings?done=withdrawn` } };
  },
});

/** Which notice applies to a change: that it was made, or that it waits. */
export const doneOrWaits = (
  before: Partial<MerchantOverview> | null,
  after: Partial<MerchantOverview>,
  done: string,
): string => (countOf(after) > countOf(before) ? 'waits' : done);

const countOf = (overview: Partial<MerchantOverview> | null): number => overview?.pending_changes?.length ?? 0;
