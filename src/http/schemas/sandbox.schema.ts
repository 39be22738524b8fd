import { z } from 'zod';
import {
  coin,
  coinCode,
  enumeration,
  network,
  positiveAmountText,
  sessionId,
  text,
  transactionHash,
  unixSeconds,
} from './words.schema.ts';
import { keysOf } from '../../domain/values/keys-of.ts';

/** What the sandbox's test wallet can do to a session. */
const CASES = {
  exact: 'what is due',
  partial: 'half of it',
  over: 'more than is due',
  late: 'what is due, after the deadline',
  wrong_coin: 'the other coin',
  two_payers: 'two payers share what is due',
  reorg: 'the transfer is mined, reorganised away and mined again',
  lost: 'the transfer is mined and permanently reorganised away',
  contract_payer: 'what is due, from a contract: a refund asks for `acknowledge_sender`',
  exchange_payer: 'what is due, from an address listed as an exchange: a refund asks for `acknowledge_sender`',
  frozen_payer:
    "what is due, from a payer whom the coin's issuer then freezes: every refund to it fails with `recipient_frozen`",
} as const;
export type SandboxCase = keyof typeof CASES;
export const SANDBOX_CASES = keysOf(CASES);
const sandboxCase = enumeration('What happens.', CASES);

export const sandboxPayBody = z
  .strictObject({
    network: network.meta({
      description: 'Network to pay on, one of those that the session offers: `ethereum`, `bsc`, `tron` or `solana`.',
    }),
    coin: coinCode
      .optional()
      .meta({ description: 'By default the coin of the session; the other one for `wrong_coin`.' }),
    amount: positiveAmountText.optional().meta({ description: 'Units of the coin; by default what the case needs.' }),
    case: sandboxCase.optional().meta({ default: 'exact' }),
  })
  .meta({ id: 'SandboxPay' });

export const sandboxPayment = z
  .object({
    session_id: sessionId,
    case: sandboxCase,
    transfers: z
      .array(
        z.object({
          network,
          coin,
          amount: text('Units of the coin.'),
          from_address: text('Address of the test wallet.'),
          to_address: text('Collection address of the session.'),
          tx_hash: transactionHash,
        }),
      )
      .meta({ description: 'The transfers that were sent.' }),
  })
  .meta({ id: 'SandboxPayment' });

/** The longest lifetime of a session. */
const MAX_SECONDS = 30 * 86_400;
const SECONDS_RULE = `must be a whole number from 1 to ${MAX_SECONDS}`;

export const sandboxAdvanceBody = z
  .strictObject({
    seconds: z
      .int(SECONDS_RULE)
      .min(1, SECONDS_RULE)
      .max(MAX_SECONDS, SECONDS_RULE)
      .optional()
      .meta({ description: 'By how much to bring the deadline nearer; by default the deadline becomes now.' }),
  })
  .meta({ id: 'SandboxAdvance' });

export const sandboxDeadline = z
  .object({
    session_id: z.string().meta({ description: 'The session.' }),
    expires_at: unixSeconds.meta({ description: 'Its new deadline, in Unix seconds.' }),
  })
  .meta({ id: 'SandboxDeadline' });

export type SandboxPayBody = z.input<typeof sandboxPayBody>;
export type SandboxPaymentBody = z.output<typeof sandboxPayment>;
