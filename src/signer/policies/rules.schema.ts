import { z } from 'zod';
import { COINS } from '../../domain/money/money.ts';
import { NETWORKS } from '../../domain/networks/networks.ts';
import type { PayoutNetwork, PayoutRules } from '../../ports/signer/protocol.ts';
import { amount, FIELDS, onNetwork } from '../chains/network-fields.ts';

const limits = z.strictObject({ perTransaction: amount, perHour: amount, perDay: amount, approvalFrom: amount });
const native = z.strictObject({
  ...{ perTransaction: amount.exactOptional(), perHour: amount.exactOptional(), perDay: amount.exactOptional() },
  ...{ maxGasPriceGwei: amount.exactOptional(), maxPriorityFeeGwei: amount.exactOptional() },
  maxPriorityFeeMicroLamports: z
    .string()
    .regex(/^(0|[1-9]\d{0,17})$/)
    .exactOptional(),
});
const outward = z.strictObject({ perTransaction: amount, perDay: amount });
const destinations = z.strictObject(
  Object.fromEntries(NETWORKS.map((network) => [network, z.array(FIELDS[network].address).max(100).exactOptional()])),
);
const network: z.ZodType<PayoutNetwork> = onNetwork(({ address }) => ({
  mode: z.enum(['live', 'test']),
  chainId: z.string().min(1).max(64),
  tokens: z.array(z.object({ coin: z.enum(COINS), address, decimals: z.int().min(0).max(18) })),
  urls: z.array(z.url()).min(1),
  headers: z.record(z.string(), z.string()).exactOptional(),
}));

const base64url = z.string().regex(/^[A-Za-z0-9_-]{16,4096}$/);
const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$/);
const approver = z.discriminatedUnion('kind', [
  z.strictObject({ name, kind: z.literal('ed25519'), publicKey: base64url }),
  z.strictObject({
    name,
    kind: z.literal('webauthn'),
    credentialId: base64url,
    publicKey: base64url,
    rpId: z.hostname(),
    origin: z.url(),
  }),
]);

/** The payout rules that the main process may pass to the signer at its start. */
export const payoutRulesSchema: z.ZodType<PayoutRules> = z.strictObject({
  journalDirectory: z.string().min(1),
  networks: z.array(network),
  limits: z.strictObject({ USDT: limits.exactOptional(), USDC: limits.exactOptional() }),
  payoutsPerHour: z.int().min(0),
  nativeLimits: z.partialRecord(z.enum(NETWORKS), native).exactOptional(),
  treasuryLimits: z.strictObject({ USDT: outward.exactOptional(), USDC: outward.exactOptional() }).exactOptional(),
  withdrawalAddresses: z
    .strictObject({ live: destinations.exactOptional(), test: destinations.exactOptional() })
    .exactOptional(),
  approvers: z.array(approver).max(100),
});
