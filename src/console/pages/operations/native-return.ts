import { html, type Html } from '../../../runtime/http/html.ts';
import { run, type ConsoleDeps } from '../../deps.ts';
import { changeForm, field, REASON } from '../../parts.ts';
import { reasonIn, type ChangeRoute, type Visit } from '../../visit.ts';
import { words } from '../../words.ts';

/* The proposal to send native coin back to whoever sent it to a collection address. */

export const nativeReturnForm = (visit: Visit, first: readonly Html[]): Html =>
  html`<p>
      ${words`Sends what arrived at a collection address back to its sender, from the treasury and less the network fee. The
      signer reads the transfer itself and pays nobody else.`}
    </p>
    ${changeForm(
      visit,
      '/treasury/return',
      [
        ...first,
        field({ name: 'tx', label: words`Transaction`, required: true, max: 128 }),
        field({ name: 'address', label: words`Collection address`, required: true, max: 128 }),
        field({
          name: 'amount',
          label: words`Amount`,
          max: 40,
          hint: words`Leave empty to return everything, less the network fee.`,
        }),
        field({ name: 'sender', label: words`Sender`, options: SENDERS }),
        field(REASON),
      ],
      words`Preview`,
    )}`;

const SENDERS = [
  ['known', words`A private wallet`],
  ['acknowledged', words`An exchange or a contract, whose owner can receive it there`],
] as const;

export function nativeReturn(deps: ConsoleDeps): ChangeRoute {
  const given = ({ form }: Visit): [string, string][] =>
    ['mode', 'network', 'tx', 'address', 'amount'].flatMap((name) =>
      form[name] === undefined || form[name] === '' ? [] : [[name, form[name]]],
    );
  const isAcknowledged = ({ form }: Visit): boolean => form['sender'] === 'acknowledged';
  return {
    path: '/treasury/return',
    action: 'treasury.propose',
    target: ({ form }) => `${form['tx']} on ${form['network']}`,
    toSign: async (visit) => ({
      kind: 'terms',
      title: 'propose a return of native coin',
      lines: [
        ...given(visit),
        ...(isAcknowledged(visit) ? [['although', 'it came from where its owner may not receive it'] as const] : []),
        ['reason', reasonIn(visit)],
      ],
    }),
    run: async (visit) => {
      const shared = {
        operator: visit.person.name,
        reason: reasonIn(visit),
        ...(isAcknowledged(visit) && { acknowledgeSender: true }),
      };
      const made = await run<{ id: string }>(deps, 'treasury.return', {
        ...Object.fromEntries(given(visit)),
        ...shared,
      });
      return { detail: made.id, shown: { to: '/treasury?done=proposed' } };
    },
  };
}
