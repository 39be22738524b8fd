import { z } from 'zod';
import type { DepositProof } from '../domain/deposit-proof.ts';
import type { MoveDraft, PayoutDraft } from '../domain/events/treasury-events.ts';
import { MOVE_KINDS } from '../domain/events/treasury-move-events.ts';
import type { MerchantId } from '../domain/ids.ts';
import { COINS } from '../domain/money.ts';
import { NATIVE_COIN, NETWORKS } from '../domain/networks.ts';
import type { MoveOrder, MoveRequestToSign } from '../ports/moves.ts';
import type { PayoutOrder, PayoutRequest } from '../ports/payouts.ts';
import { method, MethodRefused, walletOf, type Method, type SignerContext } from './method.ts';
import type { Payouts } from './payouts.ts';

const mode = z.enum(['live', 'test']);
const text = z.string().min(1).max(256);
const whole = z.string().regex(/^(0|[1-9]\d{0,77})$/);
const amount = z.string().regex(/^(0|[1-9]\d{0,11})(\.\d{1,18})?$/);

const proof: z.ZodType<DepositProof> = z.strictObject({
  ...{ depositKey: text, txHash: text, logIndex: z.int().min(0), toAddress: text },
  derivationIndex: z.int().min(0).max(0x7fff_ffff).nullable(),
});

const order: z.ZodType<PayoutOrder> = z.strictObject({
  mode,
  network: z.enum(NETWORKS),
  sessionId: text,
  refundId: text,
  legId: text,
  coin: z.enum(COINS),
  amount,
  toAddress: text,
  deposits: z.array(proof).max(1_000),
});

const tokenDrafts = [
  z.strictObject({
    kind: z.literal('evm'),
    chainId: whole,
    nonce: z.int().min(0),
    tokenAddress: text,
    tokenUnits: whole,
    gasLimit: whole,
    maxFeePerGas: whole,
    maxPriorityFeePerGas: whole,
  }),
  z.strictObject({
    kind: z.literal('tron'),
    tokenAddress: text,
    tokenUnits: whole,
    refBlockBytes: z.string().regex(/^[0-9a-f]{4}$/),
    refBlockHash: z.string().regex(/^[0-9a-f]{16}$/),
    timestampMs: z.int().min(0),
    expirationMs: z.int().min(0),
    feeLimit: z.int().min(0),
  }),
  z.strictObject({
    kind: z.literal('solana'),
    tokenAddress: text,
    tokenUnits: whole,
    decimals: z.int().min(0).max(18),
    blockhash: text,
    lastValidBlockHeight: z.int().min(0),
    computeUnitPrice: whole,
  }),
] as const;
const draft: z.ZodType<PayoutDraft> = z.discriminatedUnion('kind', tokenDrafts);
const moveDraft: z.ZodType<MoveDraft> = z.discriminatedUnion('kind', [
  ...tokenDrafts,
  z.strictObject({
    ...{ kind: z.literal('evm-native'), chainId: whole, nonce: z.int().min(0), value: whole },
    ...{ gasLimit: whole, maxFeePerGas: whole, maxPriorityFeePerGas: whole },
  }),
  z.strictObject({
    kind: z.literal('tron-native'),
    sun: z.string().regex(/^[1-9]\d{0,14}$/),
    refBlockBytes: z.string().regex(/^[0-9a-f]{4}$/),
    refBlockHash: z.string().regex(/^[0-9a-f]{16}$/),
    timestampMs: z.int().min(0),
    expirationMs: z.int().min(0),
  }),
]);
const moveOrder: z.ZodType<MoveOrder> = z.strictObject({
  kind: z.enum(MOVE_KINDS),
  moveId: text,
  mode,
  network: z.enum(NETWORKS),
  coin: z.enum([...COINS, ...Object.values(NATIVE_COIN)]),
  amount,
  fromAddress: text,
  toAddress: text,
  derivationIndex: z.int().min(0).max(0x7fff_ffff).nullable(),
  merchantId: (text as unknown as z.ZodType<MerchantId>).nullable(),
  forMoveId: text.nullable(),
  deposit: proof.optional() as z.ZodType<DepositProof>,
});
const destination = z.strictObject({ mode, network: z.enum(NETWORKS), merchantId: text, address: text });

const place = z.strictObject({ seq: z.int().min(1), hash: z.string().regex(/^[0-9a-f]{64}$/) });
const request: z.ZodType<PayoutRequest> = z.strictObject({ order, attempt: z.int().min(1), fromAddress: text, draft, ledger: place.nullable() });

function deskOf({ payouts }: SignerContext): Payouts {
  if (!payouts) throw new MethodRefused('no_wallet', 'the signer was given nothing to pay with');
  return payouts;
}

const moveRequest: z.ZodType<MoveRequestToSign> = z.strictObject({
  order: moveOrder,
  attempt: z.int().min(1),
  draft: moveDraft,
  ledger: place.nullable(),
});

/** What the signer can be asked about money that is not a refund. */
export const MOVE_METHODS: readonly (readonly [string, Method<unknown, unknown>])[] = [
  ['checkMove', method({ params: z.strictObject({ order: moveOrder }), run: (params, context) => deskOf(context).moves.check(params.order) })],
  ['signMove', method({ params: moveRequest, run: (params, context) => deskOf(context).moves.sign(params) })],
  [
    'approveMove',
    method({
      params: z.strictObject({ order: moveOrder, approver: text, secret: text }),
      run: ({ order: of, approver, secret }, context) => deskOf(context).moves.approve(of, approver, secret),
    }),
  ],
  ['releaseMove', method({ params: z.strictObject({ order: moveOrder }), run: (params, context) => deskOf(context).moves.release(params.order) })],
  [
    'unknownTransactions',
    method({
      params: z.strictObject({ mode, network: z.enum(NETWORKS), txHashes: z.array(text).max(10_000) }),
      run: (params, context) => deskOf(context).moves.unknown(params.mode, params.network, params.txHashes),
    }),
  ],
  [
    'approveDestination',
    method({
      params: z.strictObject({ destination, approver: text, secret: text }),
      run: ({ destination: to, approver, secret }, context) => deskOf(context).moves.approveDestination(to, approver, secret),
    }),
  ],
];

/** What the signer can be asked about money out. */
export const PAYOUT_METHODS: readonly (readonly [string, Method<unknown, unknown>])[] = [
  ['treasuryAddresses', method({ params: z.strictObject({ mode }), run: (params, context) => walletOf(context, params.mode).treasury })],
  ['checkPayout', method({ params: z.strictObject({ order }), run: (params, context) => deskOf(context).check(params.order) })],
  ['signPayout', method({ params: request, run: (params, context) => deskOf(context).sign(params) })],
  ['releasePayout', method({ params: z.strictObject({ order }), run: (params, context) => deskOf(context).release(params.order) })],
  [
    'approvePayout',
    method({
      params: z.strictObject({ order, approver: text, secret: text }),
      run: ({ order: of, approver, secret }, context) => deskOf(context).approve(of, approver, secret),
    }),
  ],
  [
    'setStopped',
    method({
      params: z.strictObject({ mode, stopped: z.boolean(), by: text }),
      run: (params, context) => deskOf(context).setStopped(params.mode, params.stopped, params.by),
    }),
  ],
  ['payoutStatus', method({ params: z.strictObject({ mode }), run: (params, context) => deskOf(context).status(params.mode) })],
];
