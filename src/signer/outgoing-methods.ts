import { z } from 'zod';
import type { DepositProof, TakenDeposit } from '../domain/networks/deposit-proof.ts';
import type { TransactionDraft } from '../domain/events/transaction-draft.ts';
import { MOVE_KINDS } from '../domain/events/treasury-move-events.ts';
import { COINS } from '../domain/money/money.ts';
import { NATIVE_COIN, NETWORKS, type Network } from '../domain/networks/networks.ts';
import type { OutgoingTransaction } from '../ports/outgoing/transaction.ts';
import type { AskedNativeTransfer, SigningRequest } from '../ports/outgoing/signer.ts';
import type { HashedParts } from '../domain/events/canonical-text.ts';
import { NONCE_ACCOUNTS } from '../chain-formats/solana-nonce.ts';
import { MOST_SWEPT_ACCOUNTS } from '../chain-formats/spl-token.ts';
import { method, MethodRefused, walletOf, type Method, type SignerContext } from './method.ts';
import {
  amount,
  evmFields,
  id,
  merchantId,
  onNetwork,
  solanaFields,
  tronFields,
  units,
  walletIndex,
  words,
  type NetworkFields,
} from './chains/network-fields.ts';
import type { Outgoing } from './outgoing.ts';

export const mode = z.enum(['live', 'test']);

/** The key must match the chain position, so that one deposit cannot be named twice. */
const isItsKey =
  (network: Network) =>
  ({ depositKey, txHash, logIndex }: DepositProof): boolean =>
    depositKey === `${network}:${txHash}:${logIndex}`;
const depositOn = (fields: NetworkFields, network: Network): z.ZodType<TakenDeposit> =>
  z
    .strictObject({
      depositKey: z.string().max(256),
      txHash: fields.txHash,
      logIndex: z.int().min(0),
      blockNumber: z.int().min(0).optional(),
      toAddress: fields.address,
      ...{ derivationIndex: walletIndex.nullable(), amount },
    })
    .refine(isItsKey(network), { path: ['depositKey'] });

/** Only a refund has a session, and only returned money comes from deposits or from a transfer of native coin. */
const isWhole = ({ kind, refund, deposits, transfer }: OutgoingTransaction): boolean =>
  (kind === 'refund') === (refund !== null) &&
  (kind === 'refund' || kind === 'return' || deposits.length === 0) &&
  (kind === 'native_return') === (transfer !== undefined);

export const order = onNetwork((fields, network) => ({
  kind: z.enum(['refund', ...MOVE_KINDS]),
  ...{ id, mode, amount },
  coin: z.enum([...COINS, NATIVE_COIN[network]]),
  ...{ fromAddress: fields.address, toAddress: fields.address },
  derivationIndex: walletIndex.nullable(),
  merchantId: merchantId.nullable(),
  refund: z.strictObject({ sessionId: id, refundId: id }).nullable(),
  deposits: z.array(depositOn(fields, network)).max(1_000),
  transfer: z
    .strictObject({ txHash: fields.txHash, toAddress: fields.address, derivationIndex: walletIndex })
    .exactOptional(),
})).refine(isWhole, { path: ['kind'] });

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
const draft: z.ZodType<TransactionDraft> = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('evm'),
    chainId,
    nonce: z.int().min(0),
    tokenAddress: evmFields.address,
    tokenUnits: units,
    ...evmFees,
  }),
  z.strictObject({ kind: z.literal('evm-cancel'), chainId, nonce: z.int().min(0), ...evmFees }),
  z.strictObject({ kind: z.literal('evm-native'), chainId, nonce: z.int().min(0), value: units, ...evmFees }),
  z.strictObject({
    kind: z.literal('tron'),
    tokenAddress: tronFields.address,
    tokenUnits: units,
    ...tronBlock,
    feeLimit: z.int().min(0),
  }),
  z.strictObject({ kind: z.literal('tron-native'), sun: z.string().regex(/^[1-9]\d{0,14}$/), ...tronBlock }),
  z.strictObject({
    kind: z.literal('solana'),
    tokenAddress: solanaFields.address.nullable(),
    tokenUnits: units,
    decimals: z.int().min(0).max(18),
    toAccount: solanaFields.address.exactOptional(),
    fromAccounts: z
      .array(z.strictObject({ account: solanaFields.address, units }))
      .min(1)
      .max(MOST_SWEPT_ACCOUNTS)
      .exactOptional(),
    ...{ nonceIndex, nonce: solanaFields.address },
    computeUnitPrice: units,
  }),
  z.strictObject({
    kind: z.literal('solana-nonce-account'),
    nonceIndex,
    lamports: units,
    blockhash: solanaFields.address,
    computeUnitPrice: units.exactOptional(),
  }),
]);

export const place = z.strictObject({ seq: z.int().min(1), hash: z.string().regex(/^[0-9a-f]{64}$/) });
const request: z.ZodType<SigningRequest> = z.strictObject({
  order,
  attempt: z.int().min(1),
  draft,
  logPlace: place.nullable(),
});
const transactions = onNetwork(({ txHash }) => ({
  mode,
  txHashes: z.array(txHash).max(10_000),
}));

const signedAfter = z.strictObject({ mode, network: z.enum(NETWORKS), logPlace: place.nullable() });

const nativeTransfer: z.ZodType<AskedNativeTransfer> = onNetwork(({ txHash, address }) => ({
  mode,
  txHash,
  toAddress: address,
}));

export function outgoingOf({ outgoing }: SignerContext): Outgoing {
  if (!outgoing) throw new MethodRefused('no_wallet', 'the signer has no payout settings');
  return outgoing;
}

const hashedParts: z.ZodType<HashedParts> = z.strictObject({
  stream: z.string().min(1),
  revision: z.int().min(0),
  id: z.string(),
  type: z.string().min(1),
  version: z.int(),
  atMs: z.int(),
  ...{ data: z.string(), metadata: z.string() },
});
const eventPage = z.strictObject({ from: z.int().min(0), events: z.array(hashedParts).max(1_000) });

/** The signer's methods for outgoing transactions. */
export const OUTGOING_METHODS: readonly (readonly [string, Method<unknown, unknown>])[] = [
  [
    'treasuryAddresses',
    method({ params: z.strictObject({ mode }), run: (params, context) => walletOf(context, params.mode).treasury }),
  ],
  [
    'takeEvents',
    method({ params: eventPage, run: ({ from, events }, context) => outgoingOf(context).ledger.take(from, events) }),
  ],
  [
    'check',
    method({ params: z.strictObject({ order }), run: (params, context) => outgoingOf(context).check(params.order) }),
  ],
  ['sign', method({ params: request, run: (params, context) => outgoingOf(context).sign(params) })],
  [
    'release',
    method({
      params: z.strictObject({ order, seenIn: z.int().nonnegative().optional() }),
      run: (params, context) => outgoingOf(context).release(params.order, params.seenIn),
    }),
  ],
  [
    'nativeTransfer',
    method({ params: nativeTransfer, run: (params, context) => outgoingOf(context).nativeTransfer(params) }),
  ],
  [
    'unknownTransactions',
    method({
      params: transactions,
      run: (params, context) => outgoingOf(context).unknown(params.mode, params.network, params.txHashes),
    }),
  ],
  [
    'signedAfter',
    method({
      params: signedAfter,
      run: (params, context) => outgoingOf(context).signedAfter(params.mode, params.network, params.logPlace),
    }),
  ],
  [
    'stop',
    method({
      params: z.strictObject({ mode, by: words }),
      run: (params, context) => outgoingOf(context).stop(params.mode, params.by),
    }),
  ],
  [
    'status',
    method({ params: z.strictObject({ mode }), run: (params, context) => outgoingOf(context).status(params.mode) }),
  ],
];
