import { z } from 'zod';
import type { DepositProof, TakenDeposit } from '../domain/deposit-proof.ts';
import type { MoveDraft, PayoutDraft } from '../domain/events/payout-draft.ts';
import { MOVE_KINDS } from '../domain/events/treasury-move-events.ts';
import type { Mode } from '../domain/ids.ts';
import { COINS } from '../domain/money.ts';
import { NATIVE_COIN, type Network } from '../domain/networks.ts';
import type { LedgerEvent, MoveOrder, MoveRequestToSign } from '../ports/moves.ts';
import type { PayoutOrder, PayoutRequest } from '../ports/payouts.ts';
import { NONCE_ACCOUNTS } from '../runtime/util/solana-nonce.ts';
import { method, MethodRefused, walletOf, type Method, type SignerContext } from './method.ts';
import { amount, evmFields, id, onNetwork, solanaFields, tronFields, units, walletIndex, words, type NetworkFields } from './network-fields.ts';
import type { Payouts } from './payouts.ts';

export const mode = z.enum(['live', 'test']);

/** The key is what the place in the chain says, so that nobody can name one deposit twice. */
const isItsKey =
  (network: Network) =>
  ({ depositKey, txHash, logIndex }: DepositProof): boolean =>
    depositKey === `${network}:${txHash}:${logIndex}`;
const proofFields = ({ address, txHash }: NetworkFields) => ({
  ...{ depositKey: z.string().max(256), txHash, logIndex: z.int().min(0), toAddress: address, derivationIndex: walletIndex.nullable() },
});
const proofOn = (fields: NetworkFields, network: Network): z.ZodType<DepositProof> =>
  z.strictObject(proofFields(fields)).refine(isItsKey(network), { path: ['depositKey'] });
const takenOn = (fields: NetworkFields, network: Network): z.ZodType<TakenDeposit> =>
  z.strictObject({ ...proofFields(fields), amount }).refine(isItsKey(network), { path: ['depositKey'] });

export const order = onNetwork<PayoutOrder>((fields, network) => ({
  mode,
  ...{ sessionId: id, refundId: id, legId: id },
  coin: z.enum(COINS),
  amount,
  toAddress: fields.address,
  deposits: z.array(takenOn(fields, network)).max(1_000),
}));

const evmFees = { gasLimit: units, maxFeePerGas: units, maxPriorityFeePerGas: units };
const chainId = z.string().regex(/^[1-9]\d{0,19}$/);
const tronBlock = {
  refBlockBytes: z.string().regex(/^[0-9a-f]{4}$/),
  refBlockHash: z.string().regex(/^[0-9a-f]{16}$/),
  timestampMs: z.int().min(0),
  expirationMs: z.int().min(0),
};
const nonceIndex = z
  .int()
  .min(0)
  .max(NONCE_ACCOUNTS - 1);
const tokenDrafts = [
  z.strictObject({ kind: z.literal('evm'), chainId, nonce: z.int().min(0), tokenAddress: evmFields.address, tokenUnits: units, ...evmFees }),
  z.strictObject({ kind: z.literal('tron'), tokenAddress: tronFields.address, tokenUnits: units, ...tronBlock, feeLimit: z.int().min(0) }),
  z.strictObject({
    kind: z.literal('solana'),
    tokenAddress: solanaFields.address,
    tokenUnits: units,
    decimals: z.int().min(0).max(18),
    ...{ nonceIndex, nonce: solanaFields.address },
    computeUnitPrice: units,
  }),
] as const;
const cancelDraft = z.strictObject({ kind: z.literal('evm-cancel'), chainId, nonce: z.int().min(0), ...evmFees });
const draft: z.ZodType<PayoutDraft> = z.discriminatedUnion('kind', [...tokenDrafts, cancelDraft]);
const moveDraft: z.ZodType<MoveDraft> = z.discriminatedUnion('kind', [
  ...tokenDrafts,
  z.strictObject({ kind: z.literal('evm-native'), chainId, nonce: z.int().min(0), value: units, ...evmFees }),
  z.strictObject({ kind: z.literal('solana-nonce-account'), nonceIndex, lamports: units, blockhash: solanaFields.address }),
  z.strictObject({ kind: z.literal('tron-native'), sun: z.string().regex(/^[1-9]\d{0,14}$/), ...tronBlock }),
]);
export const moveOrder = onNetwork<MoveOrder>((fields, network) => ({
  kind: z.enum(MOVE_KINDS),
  moveId: id,
  mode,
  coin: z.enum([...COINS, NATIVE_COIN[network]]),
  amount,
  ...{ fromAddress: fields.address, toAddress: fields.address },
  derivationIndex: walletIndex.nullable(),
  ...{ merchantId: id.nullable(), forMoveId: id.nullable() },
  deposit: proofOn(fields, network).optional(),
}));

const place = z.strictObject({ seq: z.int().min(1), hash: z.string().regex(/^[0-9a-f]{64}$/) });
const attempt = z.int().min(1);
const request: z.ZodType<PayoutRequest> = z.strictObject({ order, attempt, fromAddress: words, draft, ledger: place.nullable() });
const transactions = onNetwork<{ mode: Mode; network: Network; txHashes: string[] }>(({ txHash }) => ({
  mode,
  txHashes: z.array(txHash).max(10_000),
}));

export function payoutsOf({ payouts }: SignerContext): Payouts {
  if (!payouts) throw new MethodRefused('no_wallet', 'the signer was given nothing to pay with');
  return payouts;
}

const moveRequest: z.ZodType<MoveRequestToSign> = z.strictObject({
  order: moveOrder,
  attempt,
  draft: moveDraft,
  ledger: place.nullable(),
});

const ledgerEvent: z.ZodType<LedgerEvent> = z.strictObject({
  ...{ stream: z.string().min(1), revision: z.int().min(0), id: z.string(), type: z.string().min(1), version: z.int(), atMs: z.int() },
  ...{ data: z.string(), metadata: z.string() },
});
const ledgerPage = z.strictObject({ from: z.int().min(0), events: z.array(ledgerEvent).max(1_000) });

/** What the signer can be asked about money that is not a refund. */
export const MOVE_METHODS: readonly (readonly [string, Method<unknown, unknown>])[] = [
  ['takeLedger', method({ params: ledgerPage, run: ({ from, events }, context) => payoutsOf(context).accounts.take(from, events) })],
  ['checkMove', method({ params: z.strictObject({ order: moveOrder }), run: (params, context) => payoutsOf(context).moves.check(params.order) })],
  ['signMove', method({ params: moveRequest, run: (params, context) => payoutsOf(context).moves.sign(params) })],
  ['releaseMove', method({ params: z.strictObject({ order: moveOrder }), run: (params, context) => payoutsOf(context).moves.release(params.order) })],
  [
    'unknownTransactions',
    method({
      params: transactions,
      run: (params, context) => payoutsOf(context).moves.unknown(params.mode, params.network, params.txHashes),
    }),
  ],
];

/** What the signer can be asked about money out. */
export const PAYOUT_METHODS: readonly (readonly [string, Method<unknown, unknown>])[] = [
  ['treasuryAddresses', method({ params: z.strictObject({ mode }), run: (params, context) => walletOf(context, params.mode).treasury })],
  ['checkPayout', method({ params: z.strictObject({ order }), run: (params, context) => payoutsOf(context).check(params.order) })],
  ['signPayout', method({ params: request, run: (params, context) => payoutsOf(context).sign(params) })],
  ['releasePayout', method({ params: z.strictObject({ order }), run: (params, context) => payoutsOf(context).release(params.order) })],
  ['stop', method({ params: z.strictObject({ mode, by: words }), run: (params, context) => payoutsOf(context).stop(params.mode, params.by) })],
  ['payoutStatus', method({ params: z.strictObject({ mode }), run: (params, context) => payoutsOf(context).status(params.mode) })],
];
