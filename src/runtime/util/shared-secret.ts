import { createHmac, hash, timingSafeEqual } from 'node:crypto';

/** Who proves; told apart so that neither side's proof can be sent back to it as the other's. */
export type Prover = 'service' | 'signer';

/** What shows that somebody knows the secret, for one connection: a MAC over both sides' challenges. */
export function proofOf(
  secret: string,
  prover: Prover,
  challenges: { readonly signer: string; readonly service: string },
): string {
  return createHmac('sha256', secret)
    .update(`quittance signer 1\n${prover}\n${challenges.signer}\n${challenges.service}\n`)
    .digest('hex');
}

/** Compared as hashes, so that the time it takes tells nothing of what was expected, its length included. */
export function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', expected, 'buffer'));
}
