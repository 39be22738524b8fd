import type { Mode } from '../../domain/values/ids.ts';
import { amountOf, COINS, least, formatAmount, type Coin } from '../../domain/money/money.ts';
import { nativeLimitsOf, type NativeLimits } from '../../domain/networks/native-limits.ts';
import { NETWORKS, type Network } from '../../domain/networks/networks.ts';
import { recordOf } from '../../domain/values/record-of.ts';
import type { PayoutLimits, PayoutRules } from '../../ports/signer/protocol.ts';
import { must } from '../../domain/values/must.ts';

/*
 * Limits come from the configuration, which whoever starts the signer could change. The signer therefore keeps the
 * first ones: stricter limits apply at once, looser ones only after two approvals.
 */

/** Limits of one mode. Coins without an amount may not be paid. */
export interface Limits {
  readonly amounts: Readonly<Record<string, string>>;
  /** Cold addresses as `<network> <address>`, sorted. */
  readonly addresses: readonly string[];
}

const PER_HOUR = 'payouts an hour';
const refundName = (coin: Coin, field: string): string => `${coin} of refunds ${field}`;
const outwardName = (coin: Coin, field: string): string => `${coin} out of the treasury ${field}`;
const nativeName = (network: string, field: string): string => `native coin of ${network} ${field}`;
const REFUND_FIELDS = [
  'perTransaction',
  'perHour',
  'perDay',
  'approvalFrom',
] as const satisfies readonly (keyof PayoutLimits)[];
const OUTWARD_FIELDS = ['perTransaction', 'perDay'] as const;
const NATIVE_FIELDS = [
  ...(['maxGasPriceGwei', 'maxPriorityFeeGwei', 'maxPriorityFeeMicroLamports'] as const),
  ...(['perTransaction', 'perHour', 'perDay'] as const),
] as const satisfies readonly (keyof NativeLimits)[];

export function limitsOf(rules: PayoutRules, mode: Mode): Limits {
  const amounts: Record<string, string> = { [PER_HOUR]: String(rules.payoutsPerHour) };
  for (const coin of COINS) {
    for (const field of REFUND_FIELDS)
      if (rules.limits[coin]) amounts[refundName(coin, field)] = rules.limits[coin][field];
    for (const field of OUTWARD_FIELDS)
      if (rules.treasuryLimits?.[coin]) amounts[outwardName(coin, field)] = rules.treasuryLimits[coin][field];
  }
  for (const network of NETWORKS)
    for (const field of NATIVE_FIELDS)
      amounts[nativeName(network, field)] = nativeLimitsOf(network, rules.nativeLimits)[field];
  const allowed = rules.withdrawalAddresses?.[mode] ?? {};
  const addresses = NETWORKS.flatMap((network) =>
    (allowed[network] ?? []).map((address) => `${network} ${address}`),
  ).toSorted();
  return { amounts, addresses };
}

/** The stricter combination of both. */
export function stricter(one: Limits, other: Limits): Limits {
  const named = Object.keys(one.amounts).filter((name) => Object.hasOwn(other.amounts, name));
  const amounts = named.map((name) => [name, lower(must(one.amounts[name]), must(other.amounts[name]))] as const);
  return {
    amounts: Object.fromEntries(amounts),
    addresses: one.addresses.filter((address) => other.addresses.includes(address)),
  };
}

const lower = (one: string, other: string): string =>
  least(amountOf(one), amountOf(other)) === amountOf(one) ? one : other;

/** The points in which `wanted` allows more, for people. */
export function changesOf(inForce: Limits, wanted: Limits): string[] {
  const raised = Object.entries(wanted.amounts).filter(([name, value]) => {
    const now = inForce.amounts[name];
    return now === undefined || amountOf(value) > amountOf(now);
  });
  const added = wanted.addresses.filter((address) => !inForce.addresses.includes(address));
  return [
    ...raised.map(
      ([name, value]) => `${inWords(name)}: ${shown(value)} instead of ${shown(inForce.amounts[name] ?? '0')}`,
    ),
    ...added.map((address) => `withdrawals may go to ${address}`),
  ];
}

/** `USDT of refunds perHour` as `USDT of refunds per hour`. */
const inWords = (name: string): string =>
  name.replace(/\S+$/, (field) => field.replaceAll(/[A-Z]/g, ' $&').toLowerCase());

const shown = (value: string): string => formatAmount(amountOf(value), 0);

/** The rules with these limits in place of their own. */
export function withLimits(rules: PayoutRules, mode: Mode, { amounts, addresses }: Limits): PayoutRules {
  const ofCoins = <Field extends string>(fields: readonly Field[], nameOf: (coin: Coin, field: string) => string) =>
    Object.fromEntries(
      COINS.filter((coin) => fields.every((field) => Object.hasOwn(amounts, nameOf(coin, field)))).map((coin) => [
        coin,
        recordOf(fields, (field) => must(amounts[nameOf(coin, field)])),
      ]),
    );
  const nativeOf = (network: Network): NativeLimits =>
    recordOf(NATIVE_FIELDS, (field) => must(amounts[nativeName(network, field)]));
  const coldOf = (network: Network): string[] =>
    addresses
      .filter((address) => address.startsWith(`${network} `))
      .map((address) => address.slice(network.length + 1));
  return {
    ...rules,
    limits: ofCoins(REFUND_FIELDS, refundName),
    payoutsPerHour: Number(amounts[PER_HOUR] ?? 0),
    treasuryLimits: ofCoins(OUTWARD_FIELDS, outwardName),
    nativeLimits: recordOf(NETWORKS, nativeOf),
    withdrawalAddresses: { [mode]: recordOf(NETWORKS, coldOf) },
  };
}
