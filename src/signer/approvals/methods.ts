import { z } from 'zod';
import { LINE_OF_TERMS } from '../../domain/line-of-terms.ts';
import { isPlainName } from '../../domain/values/names.ts';
import { COINS } from '../../domain/money/money.ts';
import { NATIVE_COIN, NETWORKS, type Network } from '../../domain/networks/networks.ts';
import type { Approval, ApprovalAct, ProposedAdjustment } from '../../ports/signer/approvals.ts';
import type { SettlementDestination } from '../../ports/outgoing/signer.ts';
import { method, type Method } from '../method.ts';
import { amount, id, onNetwork } from '../chains/network-fields.ts';
import { mode, order, outgoingOf, place } from '../outgoing-methods.ts';

/** A person's name as it appears in signed text. */
const person = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$/);
const line = z.string().regex(LINE_OF_TERMS);
/** A proposer's name: in another script it could look like an approver's and be none. */
const proposer = line.refine(isPlainName, 'a name in Latin letters');
const outflowKey = z.string().regex(/^[\x21-\x7e]{1,200}$/);
const base64url = z.string().regex(/^[A-Za-z0-9_-]{1,4096}$/);

const destination: z.ZodType<SettlementDestination> = onNetwork(({ address }) => ({ mode, merchantId: id, address }));
const acknowledged = onNetwork(() => ({
  mode,
  outflowKeys: z.array(outflowKey).min(1).max(100),
  reason: line,
  proposedBy: proposer,
}));
const takenOver = onNetwork(({ txHash }) => ({
  ...{ mode, txHash, reason: line, proposedBy: proposer, requestedBy: proposer.nullable() },
}));
const account = z.string().regex(/^[a-z]+(:[A-Za-z0-9_-]+){1,3}$/);
const signedAmount = z.string().regex(/^-?(0|[1-9]\d{0,11})(\.\d{1,18})?$/);
const adjustment: z.ZodType<ProposedAdjustment> = onNetwork((_, network) => ({
  ...{ adjustmentId: id, mode, coin: z.enum([...COINS, NATIVE_COIN[network]]), reason: line },
  lines: z
    .array(z.strictObject({ account, amount: signedAmount }))
    .min(2)
    .max(100),
  attachment: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
  reverses: id.nullable(),
}));
const act: z.ZodType<ApprovalAct> = z.union([
  z.strictObject({ kind: z.literal('transaction'), order, proposedBy: proposer }),
  z.strictObject({ kind: z.literal('settlement_address'), destination, proposedBy: proposer }),
  z.strictObject({
    ...{ kind: z.literal('resume'), mode, proposedBy: proposer },
    anew: z.array(z.strictObject({ network: z.enum(NETWORKS), place })).max(NETWORKS.length),
  }),
  z.strictObject({ kind: z.literal('limits'), mode, proposedBy: proposer }),
  z.strictObject({ kind: z.literal('adjustment'), adjustment, proposedBy: proposer }),
  z
    .looseObject({ kind: z.literal('acknowledge') })
    .transform(({ kind: _, ...rest }): unknown => rest)
    .pipe(acknowledged)
    .transform((rest) => ({ kind: 'acknowledge' as const, ...rest })),
  z
    .looseObject({ kind: z.literal('take_over') })
    .transform(({ kind: _, ...rest }): unknown => rest)
    .pipe(takenOver)
    .transform((rest) => ({ kind: 'take_over' as const, ...rest })),
]);

const assertion = z.strictObject({
  id: base64url,
  rawId: base64url,
  type: z.literal('public-key'),
  response: z.strictObject({
    clientDataJSON: base64url,
    authenticatorData: base64url,
    signature: base64url,
    userHandle: base64url.exactOptional(),
  }),
  clientExtensionResults: z.record(z.string(), z.unknown()),
  authenticatorAttachment: z.enum(['platform', 'cross-platform']).exactOptional(),
});
const approval: z.ZodType<Approval> = z.strictObject({
  approver: person,
  number: z.string().regex(/^\d{1,16}\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}$/),
  proof: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('ed25519'), signature: base64url }),
    z.strictObject({ kind: z.literal('webauthn'), response: assertion }),
  ]),
});

const outflow = (network: Network) =>
  z.strictObject({
    ...{ mode, network: z.literal(network), outflowKey, address: line },
    coin: z.enum([...COINS, NATIVE_COIN[network]]).nullable(),
    amount: amount.nullable(),
    toAddress: line.nullable(),
    txHash: line.nullable(),
    blockNumber: z.int().min(0).nullable(),
  });
const report = onNetwork((_, network) => ({
  mode,
  outflows: z.array(outflow(network)).max(1_000),
}));

/** Methods for actions that need two approvers. */
export const APPROVAL_METHODS: readonly (readonly [string, Method<unknown, unknown>])[] = [
  [
    'approvalTerms',
    method({
      params: z.strictObject({ act }),
      run: (params, context) => outgoingOf(context).approvals.terms(params.act),
    }),
  ],
  [
    'approve',
    method({
      params: z.strictObject({ act, approval }),
      run: (params, context) => outgoingOf(context).approvals.approve(params.act, params.approval),
    }),
  ],
  [
    'reportOutflows',
    method({
      params: report,
      run: (params, context) =>
        outgoingOf(context).approvals.reportOutflows(params.mode, params.network, params.outflows),
    }),
  ],
];
