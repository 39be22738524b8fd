import { z } from 'zod';
import { COINS } from '../domain/money.ts';
import { NETWORKS } from '../domain/networks.ts';
import type { PayoutRules } from '../ports/signer-protocol.ts';

const amount = z.string().regex(/^(0|[1-9]\d{0,11})(\.\d{1,18})?$/);
const limits = z.strictObject({ perTransaction: amount, perHour: amount, perDay: amount, approvalFrom: amount });
const outward = z.strictObject({ perTransaction: amount, perDay: amount });
const destinations = z.partialRecord(z.enum(NETWORKS), z.array(z.string().min(1).max(64)).max(100));
const token = z.object({ coin: z.enum(COINS), address: z.string().min(1), decimals: z.int().min(0).max(18) });

/** What the main process may tell the signer about payouts at its start. */
export const payoutRulesSchema: z.ZodType<PayoutRules> = z.strictObject({
  journalDirectory: z.string().min(1),
  networks: z.array(
    z.strictObject({
      mode: z.enum(['live', 'test']),
      network: z.enum(NETWORKS),
      chainId: z.string().min(1),
      tokens: z.array(token),
      urls: z.array(z.url()).min(1),
      headers: z.record(z.string(), z.string()).optional(),
    }),
  ),
  limits: z.strictObject({ USDT: limits.optional(), USDC: limits.optional() }),
  payoutsPerHour: z.int().min(0),
  treasuryLimits: z.strictObject({ USDT: outward.optional(), USDC: outward.optional() }).optional(),
  withdrawalAddresses: z.strictObject({ live: destinations.optional(), test: destinations.optional() }).optional(),
  approvers: z.array(z.strictObject({ name: z.string().min(1).max(64), secretHash: z.string().regex(/^[0-9a-f]{64}$/) })),
});
