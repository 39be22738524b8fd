import type { PageFacts } from '../../src/checkout/page/model.ts';
import type { PaymentOption } from '../../src/domain/events/session-events.ts';
import type { MerchantId, SessionId, TransactionId } from '../../src/domain/values/ids.ts';
import { usualFinalityOf, type Network, type NetworkSettings } from '../../src/domain/networks/networks.ts';
import type { DepositView, SessionView } from '../../src/features/shared/views.ts';

export const NOW_SEC = 1_767_225_600;
export const OPTION: PaymentOption = {
  network: 'ethereum',
  coin: 'USDT',
  tokenAddress: '0xdAC17F958D2ee523a2206206994597C13D831ec7',
  decimals: 6,
  chainId: '1',
  address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  derivationIndex: 0,
  finality: { kind: 'confirmations', confirmations: 12 },
};
export const OPEN: SessionView = {
  sessionId: 'cs_k7w2q5m4n6p3r7s2t5v4x6y3z7a2b5c4' as SessionId,
  mode: 'test',
  merchantId: 'mer_1' as MerchantId,
  orderId: '1042',
  supersedes: null,
  supersededBy: null,
  status: 'open',
  amount: '10.00',
  currency: 'EUR',
  dueCoin: 'USDT',
  dueAmount: '10.80',
  tolerance: '0.00',
  rateLock: { rate: '1.08', lockedAtSec: NOW_SEC - 60, rule: 'static', quotes: [] },
  taxAmount: '1.00',
  shippingAmount: '2.00',
  createdAtSec: NOW_SEC - 60,
  expiresAtSec: NOW_SEC + 600,
  alternative: null,
  paymentOptions: [OPTION, { ...OPTION, network: 'bsc', chainId: '56', decimals: 18, finality: { kind: 'finalized' } }],
  domainId: null,
  personal: { successUrl: 'https://shop.example/1', cancelUrl: 'https://shop.example/2' },
  received: '0.00',
  pending: '0.00',
  excess: '0.00',
  refunded: '0.00',
  refundable: '0.00',
  refundableByCoin: [],
  reversed: false,
  afterExpiry: false,
  paidAtSec: null,
  paidWith: null,
  deposits: [],
  refunds: [],
};
/** The same payable in USDC instead, on Ethereum alone. */
export const CHOICE: SessionView = {
  ...OPEN,
  alternative: {
    ...{ dueCoin: 'USDC', dueAmount: '10.79', tolerance: '0.00' },
    rateLock: { rate: '1.079', lockedAtSec: NOW_SEC - 60, rule: 'static', quotes: [] },
    paymentOptions: [{ ...OPTION, coin: 'USDC', tokenAddress: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48' }],
  },
};
export const DEPOSIT: DepositView = {
  transactionId: `txn_${'a'.repeat(26)}` as TransactionId,
  depositKey: 'ethereum:0x1:0',
  network: 'ethereum',
  coin: 'USDT',
  tokenAddress: OPTION.tokenAddress,
  amount: '10.80',
  fromAddress: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  toAddress: OPTION.address,
  txHash: '0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060',
  logIndex: 0,
  blockNumber: 100,
  blockHash: '0xabc',
  blockTimeSec: NOW_SEC - 10,
  kind: 'on_time',
  status: 'final',
  sender: null,
  refundable: '10.80',
};
export const PAYEE = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';
export const refund = (status: 'PENDING' | 'COMPLETED' | 'FAILED', amount = '1.00') =>
  ({
    coin: 'USDT',
    amount,
    status,
    amountReturned: status === 'COMPLETED' ? amount : '0.00',
    payouts: [
      {
        network: 'ethereum',
        coin: 'USDT',
        amount,
        toAddress: PAYEE,
        status,
        txHash: status === 'PENDING' ? null : `0x${'ab'.repeat(32)}`,
      },
    ],
  }) as unknown as SessionView['refunds'][number];

/** A session of every state and note that the page knows. */
export const SESSIONS: Readonly<Record<string, SessionView>> = {
  awaiting: OPEN,
  'awaiting either coin': CHOICE,
  underpaid: { ...OPEN, received: '5.00', deposits: [{ ...DEPOSIT, amount: '5.00' }] },
  seen: { ...OPEN, status: 'processing', pending: '10.80', deposits: [{ ...DEPOSIT, status: 'detected' }] },
  'seen in part': {
    ...OPEN,
    status: 'processing',
    pending: '5.00',
    deposits: [{ ...DEPOSIT, amount: '5.00', network: 'bsc', status: 'detected' }],
  },
  closing: { ...OPEN, expiresAtSec: NOW_SEC - 1 },
  paid: {
    ...OPEN,
    status: 'paid',
    received: '10.80',
    paidAtSec: NOW_SEC,
    paidWith: '10.80',
    deposits: [DEPOSIT],
    refunds: [refund('PENDING'), refund('COMPLETED'), refund('FAILED')],
  },
  reversed: {
    ...OPEN,
    status: 'paid',
    received: '0.00',
    reversed: true,
    paidAtSec: NOW_SEC,
    paidWith: '10.80',
    deposits: [{ ...DEPOSIT, status: 'reverted' }],
  },
  overpaid: {
    ...OPEN,
    status: 'paid',
    received: '12.00',
    excess: '1.20',
    paidAtSec: NOW_SEC,
    paidWith: '12.00',
    deposits: [{ ...DEPOSIT, amount: '12.00' }],
  },
  expired: { ...OPEN, status: 'expired', expiresAtSec: NOW_SEC - 1 },
  'expired in part': {
    ...OPEN,
    status: 'expired',
    expiresAtSec: NOW_SEC - 1,
    received: '5.00',
    deposits: [{ ...DEPOSIT, amount: '5.00' }],
  },
  late: { ...OPEN, status: 'expired', expiresAtSec: NOW_SEC - 1, deposits: [{ ...DEPOSIT, kind: 'late' }] },
  failed: { ...OPEN, status: 'failed', expiresAtSec: NOW_SEC - 1, deposits: [{ ...DEPOSIT, status: 'failed' }] },
  'failed in part': {
    ...OPEN,
    status: 'failed',
    expiresAtSec: NOW_SEC - 1,
    received: '5.00',
    deposits: [
      { ...DEPOSIT, amount: '5.00' },
      { ...DEPOSIT, amount: '5.80', status: 'reverted' },
    ],
  },
  cancelled: { ...OPEN, status: 'cancelled', expiresAtSec: NOW_SEC - 1 },
  'cancelled on its way': {
    ...OPEN,
    status: 'cancelled',
    expiresAtSec: NOW_SEC - 1,
    deposits: [{ ...DEPOSIT, kind: 'late', status: 'detected' }],
  },
  'cancelled after it came': {
    ...OPEN,
    status: 'cancelled',
    expiresAtSec: NOW_SEC - 1,
    received: '10.80',
    refundable: '10.80',
    deposits: [DEPOSIT],
  },
  'wrong coin': { ...OPEN, deposits: [{ ...DEPOSIT, coin: 'USDC', kind: 'wrong_coin' }] },
  'wrong network': { ...OPEN, deposits: [{ ...DEPOSIT, network: 'tron', kind: 'wrong_network' }] },
  lost: { ...OPEN, deposits: [{ ...DEPOSIT, status: 'reverted' }] },
  'closing with a part on its way': {
    ...OPEN,
    status: 'processing',
    pending: '5.00',
    expiresAtSec: NOW_SEC - 1,
    deposits: [{ ...DEPOSIT, amount: '5.00', status: 'detected' }],
  },
  'all on its way at the deadline': {
    ...OPEN,
    status: 'processing',
    pending: '10.80',
    expiresAtSec: NOW_SEC - 1,
    deposits: [{ ...DEPOSIT, status: 'detected' }],
  },
  refunded: {
    ...OPEN,
    status: 'paid',
    paidAtSec: NOW_SEC,
    paidWith: '10.80',
    deposits: [DEPOSIT],
    refunds: [refund('COMPLETED', '10.80')],
  },
  'refunded in part': {
    ...OPEN,
    status: 'paid',
    received: '6.80',
    paidAtSec: NOW_SEC,
    paidWith: '10.80',
    deposits: [DEPOSIT],
    refunds: [refund('FAILED', '2.00'), refund('COMPLETED', '4.00')],
  },
  'late and refunded': {
    ...OPEN,
    status: 'expired',
    expiresAtSec: NOW_SEC - 1,
    deposits: [{ ...DEPOSIT, kind: 'late', refundable: '0.00' }],
    refunds: [refund('COMPLETED', '10.80')],
  },
  'late and on its way back': {
    ...OPEN,
    status: 'expired',
    expiresAtSec: NOW_SEC - 1,
    deposits: [{ ...DEPOSIT, kind: 'late', refundable: '0.00' }],
    refunds: [refund('PENDING', '10.80')],
  },
  'cancelled and refunded in part': {
    ...OPEN,
    status: 'cancelled',
    expiresAtSec: NOW_SEC - 1,
    received: '6.80',
    refundable: '6.80',
    deposits: [DEPOSIT],
    refunds: [refund('COMPLETED', '4.00')],
  },
  'wrong coin until the end': {
    ...OPEN,
    status: 'expired',
    expiresAtSec: NOW_SEC - 1,
    deposits: [{ ...DEPOSIT, coin: 'USDC', kind: 'wrong_coin' }],
  },
  'wrong network until the end': {
    ...OPEN,
    status: 'expired',
    expiresAtSec: NOW_SEC - 1,
    deposits: [{ ...DEPOSIT, network: 'tron', kind: 'wrong_network' }],
  },
};

/** As on a main network, where wallets' apps have links. */
export const mainNetwork = (network: Network): NetworkSettings => ({
  ...{ network, mode: 'live', chainId: '1', tokens: [], simulated: false, mainNetwork: true },
  explorerTransactionUrl: null,
});

/** The session payable on every network, each with an address of its own kind. */
export const onEveryNetwork = (session: SessionView): SessionView => ({
  ...session,
  paymentOptions: [
    { ...OPTION, network: 'ethereum' },
    { ...OPTION, network: 'bsc', chainId: '56', decimals: 18 },
    { ...OPTION, network: 'tron', chainId: '728126428', address: 'TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC' },
    { ...OPTION, network: 'solana', address: 'HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk' },
  ],
});

export const FACTS: PageFacts = {
  nowSec: NOW_SEC,
  confirmationsOf: () => 3,
  finalityOf: (network) => usualFinalityOf(network, undefined),
  outageSince: () => null,
  newAttempt: null,
};
