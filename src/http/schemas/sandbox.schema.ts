import { z } from 'zod';
import { coin, coinCode, network, positiveAmountText, unixSeconds } from './words.schema.ts';

/** What the sandbox's test wallet can do to a session. */
export const SANDBOX_CASES = ['exact', 'partial', 'over', 'late', 'wrong_coin', 'two_payers', 'reorg', 'lost'] as const;
export type SandboxCase = (typeof SANDBOX_CASES)[number];

export const sandboxPayBody = z
  .strictObject({
    network,
    coin: coinCode.optional().meta({ description: 'By default the coin of the session; the other one for `wrong_coin`.' }),
    amount: positiveAmountText.optional().meta({ description: 'Units of the coin; by default what the case needs.' }),
    case: z
      .enum(SANDBOX_CASES, `must be one of ${SANDBOX_CASES.join(', ')}`)
      .optional()
      .meta({ description: 'Default `exact`.' }),
  })
  .meta({ id: 'SandboxPay' });

export const sandboxPayment = z
  .object({
    session_id: z.string(),
    case: z.enum(SANDBOX_CASES),
    transfers: z.array(z.object({ network, coin, amount: z.string(), from_address: z.string(), to_address: z.string(), tx_hash: z.string() })),
  })
  .meta({ id: 'SandboxPayment' });

/** As long as a session can live. */
const MAX_SECONDS = 30 * 86_400;
const SECONDS_RULE = `must be a whole number from 1 to ${MAX_SECONDS}`;

export const sandboxAdvanceBody = z
  .strictObject({
    seconds: z
      .int(SECONDS_RULE)
      .min(1, SECONDS_RULE)
      .max(MAX_SECONDS, SECONDS_RULE)
      .optional()
      .meta({ description: 'How much nearer the deadline comes; by default it is now.' }),
  })
  .meta({ id: 'SandboxAdvance' });

export const sandboxDeadline = z
  .object({
    session_id: z.string().meta({ description: 'The session.' }),
    expires_at: unixSeconds.meta({ description: 'Its deadline from now on, in Unix seconds.' }),
  })
  .meta({ id: 'SandboxDeadline' });

export type SandboxPayBody = z.input<typeof sandboxPayBody>;
export type SandboxAdvanceBody = z.input<typeof sandboxAdvanceBody>;
export type SandboxDeadlineBody = z.output<typeof sandboxDeadline>;
export type SandboxPaymentBody = z.output<typeof sandboxPayment>;
