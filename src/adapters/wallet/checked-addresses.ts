import { randomInt } from 'node:crypto';
import { evmAddress, tronAddress } from './address-format.ts';
import { portableChildDerivation, type ChildDerivation } from './child-public-key.ts';
import type { DerivationJob } from './derivation-job.ts';

/** Two libraries derived different addresses. Money sent to either may be lost, so neither is assigned. */
export class AddressesDisagree extends Error {
  override readonly name = 'AddressesDisagree';
}

/**
 * The addresses of a job. One of them, chosen at random, is derived again by a library that shares no code with
 * `derivation`: a broken build or a faulty processor must not show payers addresses without a known key. Throws
 * `AddressesDisagree`.
 */
export function checkedAddresses(
  derivation: ChildDerivation,
  { key, format, fromIndex, count }: Omit<DerivationJob, 'id'>,
): string[] {
  const address = format === 'evm' ? evmAddress : tronAddress;
  const childOf = derivation(key);
  const addresses = Array.from({ length: count }, (_, i) => address(childOf(fromIndex + i)));
  if (count === 0 || derivation === portableChildDerivation) return addresses;
  const place = randomInt(count);
  if (address(portableChildDerivation(key)(fromIndex + place)) !== addresses[place])
    throw new AddressesDisagree(
      `two derivations of child ${fromIndex + place} disagree: the secp256k1 addon of this machine cannot be trusted`,
    );
  return addresses;
}
