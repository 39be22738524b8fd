import { z } from 'zod';
import { coin, enumeration, network, plainText, refundId, sessionId, text, unixSeconds } from './words.schema.ts';

export const evidenceKind = enumeration('How the payer proves that the payment is theirs.', {
  signature: 'the key that paid signed the terms; the signer verifies it again',
  test_payment: 'another payment from the same sender, of an amount chosen by the service; two approvers must approve',
  no_sender: 'none, for money whose sender the chain does not name, such as minted money; two approvers must approve',
});

const WHEN = 'Unix seconds; null before.';

export const claimId = z
  .string()
  .meta({ description: 'Id of the claim.', examples: ['clm_k7w2q5m4n6p3r7s2t5v4x6y3z7'] });

export const claim = z
  .object({
    id: claimId,
    session_id: sessionId,
    transaction_id: text('The claimed deposit.'),
    network,
    coin,
    amount: text('Of the deposit, decimal string in units of the coin.'),
    from_address: text('Who sent the deposit; null when the chain names no single sender.').nullable(),
    payee: text('The address to pay instead.'),
    evidence: evidenceKind,
    proven: z
      .boolean()
      .meta({ description: 'Whether the evidence is complete; a test payment may still be on its way.' }),
    test_payment: text(
      'Exact units of the coin that must arrive from the sender of the deposit; null for other evidence.',
    ).nullable(),
    status: enumeration('Current state.', {
      open: 'you have not decided',
      approved: 'a refund approved it; see `refund_id`',
      rejected: 'turned down, or withdrawn in time',
    }),
    reason: text("The payer's own words, or null.").nullable(),
    created: unixSeconds.meta({ description: 'When it was filed, Unix seconds.' }),
    refund_id: refundId.nullable().meta({ description: 'The refund that approved it, or null.' }),
    payable_from: unixSeconds
      .nullable()
      .meta({ description: `When its refund may be paid, and until a minute before it can be rejected. ${WHEN}` }),
    rejected_at: unixSeconds.nullable().meta({ description: `When it was rejected. ${WHEN}` }),
    rejection_reason: text('Why it was rejected, as given, or null.').nullable(),
  })
  .meta({ id: 'Claim' });

export const claimList = z.object({ data: z.array(claim).meta({ description: 'The claims, newest first.' }) });

export const rejectClaimBody = z
  .strictObject({
    reason: plainText(500, { lines: true }).optional().meta({ description: 'Why, for your own records.' }),
  })
  .meta({ id: 'RejectClaim' });

export type ClaimBody = z.output<typeof claim>;
