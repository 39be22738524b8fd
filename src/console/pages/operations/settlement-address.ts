import { html, type Html } from '../../../runtime/http/html.ts';
import { NETWORKS } from '../../../domain/networks/networks.ts';
import type { ConsoleDeps } from '../../deps.ts';
import { changeForm, field, folded } from '../../parts.ts';
import type { ChangeRoute, Visit } from '../../visit.ts';
import { approval, PROPOSER } from './approval.ts';
import { words } from '../../words.ts';

/** Where a merchant's settlements go. It is nowhere proposed: both approvers state the same terms. */
export const settlementAddress = (deps: ConsoleDeps): ChangeRoute => ({
  ...approval(deps, '/treasury/settlement-address', 'merchant.settlement-address', ({ form }) => ({
    merchant_id: form['merchant_id'] ?? '',
    network: form['network'] ?? '',
    address: form['address'] ?? '',
    operator: form['proposer'] ?? '',
  })),
  target: ({ form }) => `${form['merchant_id']} ${form['network']} ${form['address']}`,
});

/** A choice of the merchants of this mode. Several may have the same name. */
export const merchantField = ({ mode }: Visit, deps: ConsoleDeps): Html => {
  const merchants = deps.merchants().filter((merchant) => merchant.mode === mode);
  return field({
    name: 'merchant_id',
    label: words`Merchant`,
    options: merchants.map(({ id, name }) => [id, `${name} (${id})`] as const),
  });
};

export function settlementAddressForm(visit: Visit, deps: ConsoleDeps): Html {
  const fields = [
    merchantField(visit, deps),
    field({ name: 'network', label: words`Network`, options: NETWORKS.map((network) => [network, network] as const) }),
    field({ name: 'address', label: words`Address`, required: true, max: 128 }),
    field(PROPOSER),
  ];
  return folded(
    words`A merchant's settlement address`,
    html`<p>${words`Ask the merchant for it by a second way. It counts once two approvers signed the same terms.`}</p>
      ${changeForm(visit, '/treasury/settlement-address', fields, words`Show the terms`)}`,
  );
}
