import { html, type Html } from '../../../runtime/http/html.ts';
import { NETWORKS } from '../../../domain/networks/networks.ts';
import { COINS } from '../../../domain/money/money.ts';
import { run, type ConsoleDeps } from '../../deps.ts';
import { changeForm, field, modeField, folded, REASON } from '../../parts.ts';
import { reasonIn, Refused, type ChangeRoute, type Visit } from '../../visit.ts';
import { nativeReturnForm } from './native-return.ts';
import { must } from '../../../domain/values/must.ts';
import { merchantField } from './settlement-address.ts';
import { words } from '../../words.ts';

/** What an operator can propose. */
export function proposalForms(visit: Visit, deps: ConsoleDeps): Html {
  const money = [
    field({ name: 'network', label: words`Network`, options: NETWORKS.map((network) => [network, network] as const) }),
    field({ name: 'coin', label: words`Coin`, options: COINS.map((coin) => [coin, coin] as const) }),
    field({ name: 'amount', label: words`Amount`, required: true, max: 40 }),
  ];
  const mode = modeField(visit);
  const withdrawal = changeForm(
    visit,
    '/treasury/withdraw',
    [mode, ...money, field({ name: 'to', label: words`To`, required: true, max: 128 }), field(REASON)],
    words`Preview`,
  );
  const settlement = changeForm(
    visit,
    '/treasury/settle',
    [merchantField(visit, deps), ...money, field(REASON)],
    words`Preview`,
  );
  return html`<h2>${words`Propose`}</h2>
    <p>${words`Two approvers must agree to each proposal. You cannot be one of them.`}</p>
    ${folded(
      words`A withdrawal`,
      html`<p>${words`To one of the cold addresses in the signer's settings.`}</p>
        ${withdrawal}`,
    )}
    ${folded(
      words`A settlement`,
      html`<p>${words`To the merchant's settlement address, for at most what the books owe.`}</p>
        ${settlement}`,
    )}
    ${folded(words`A return of native coin`, nativeReturnForm(visit, [mode, must(money[0])]))}`;
}

function merchantInWords({ merchants }: ConsoleDeps, id: string): string {
  const merchant = merchants().find((one) => one.id === id);
  if (!merchant) throw new Refused(words`merchant_id: there is no such merchant`);
  return `${merchant.name} (${merchant.mode} mode, ${merchant.id})`;
}

export function proposal(deps: ConsoleDeps, verb: 'withdraw' | 'settle', names: readonly string[]): ChangeRoute {
  const given = ({ form }: Visit): Record<string, string> =>
    Object.fromEntries(names.map((name) => [name, form[name] ?? '']));
  const inWords = ([name, value]: readonly [string, string]): readonly [string, string] =>
    name === 'merchant_id' ? ['merchant', merchantInWords(deps, value)] : [name, value];
  return {
    path: `/treasury/${verb}`,
    action: 'treasury.propose',
    target: ({ form }) => `${form['amount']} ${form['coin']} to ${form['to'] ?? form['merchant_id']}`,
    toSign: async (visit) => ({
      kind: 'terms',
      title: verb === 'withdraw' ? 'propose a withdrawal' : 'propose a settlement',
      lines: [...Object.entries(given(visit)).map(inWords), ['reason', reasonIn(visit)]],
    }),
    run: async (visit) => {
      const made = await run<{ id: string }>(deps, `treasury.${verb}`, {
        ...given(visit),
        operator: visit.person.name,
        reason: reasonIn(visit),
      });
      return { detail: made.id, shown: { to: '/treasury?done=proposed' } };
    },
  };
}
