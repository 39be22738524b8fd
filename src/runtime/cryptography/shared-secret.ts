import { createHmac, hash, timingSafeEqual } from 'node:crypto';

/** The proving side; part of the proof, so that neither side's proof can be reflected as the other's. */
export type Prover = 'service' | 'signer';

/** Proves knowledge of the secret for one connection: a MAC over both sides' challenges. */
export function proofOf(
  secret: string,
  prover: Prover,
  challenges: { readonly signer: string; readonly service: string },
): string {
  return createHmac('sha256', secret)
    .update(`quittance signer 1\n${prover}\n${challenges.signer}\n${challenges.service}\n`)
    .digest('hex');
}

/** Compares hashes, so that timing reveals nothing about the expected value, including its length. */
export function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', expected, 'buffer'));
}
