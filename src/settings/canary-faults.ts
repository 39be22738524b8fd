import type { Config } from '../config.ts';
import { amountOf } from '../domain/money/money.ts';
import { rolesOf } from './roles.ts';

/** A paying process needs all of them, one that only receives webhooks the first. */
const OF_PAYER = ['CANARY_MERCHANT_FILE', 'CANARY_KEYSTORE', 'CANARY_KEYSTORE_PASSPHRASE_FILE'] as const;

/** Faults in the canary settings, in words for the operator. */
export function canaryFaults(config: Config): string[] {
  if (OF_PAYER.every((name) => config[name] === undefined)) return [];
  const needed = rolesOf(config).worker ? OF_PAYER : OF_PAYER.slice(0, 1);
  const missing = needed.filter((name) => config[name] === undefined);
  if (missing.length > 0) return [`${missing.join(', ')} is missing: canary payments need ${needed.join(', ')}`];
  const { CANARY_AMOUNT: amount, CANARY_MAX_OUT: most, DUST_LIMIT: dust } = config;
  return [
    ...(amountOf(amount) <= amountOf(dust)
      ? [`CANARY_AMOUNT is ${amount}, which DUST_LIMIT (${dust}) does not count as a payment`]
      : []),
    ...(amountOf(most) < amountOf(amount)
      ? [`CANARY_MAX_OUT is ${most}, less than one payment of CANARY_AMOUNT (${amount})`]
      : []),
  ];
}
