import { hash } from 'node:crypto';
import type {
  DepositConfirmed,
  DepositDetected,
  DepositFacts,
  DepositReverted,
  SessionCreated,
  SessionPaid,
} from '../../src/domain/events/session-events.ts';
import type { MerchantId, RefundId, SessionId } from '../../src/domain/values/ids.ts';
import type { RequestRefund } from '../../state-machines/checkout-session/session.decider.ts';

export const SESSION_ID = `cs_${'a'.repeat(32)}` as SessionId;
export const MERCHANT_ID = 'mer_aaaaaaaaaaaaaaaaaaaa' as MerchantId;
export const CREATED_AT = 1_800_000_000;
export const EXPIRES_AT = CREATED_AT + 1800;

/** Each session has its own, as no two may share one. */
export const addressOfSession = (sessionId: SessionId): string => `0x${hash('sha1', sessionId, 'hex')}`;

/** Facts of a session of 10 USDT on Ethereum and BSC; any of them can be replaced. */
export function createdFacts(change: Partial<SessionCreated['data']> = {}): SessionCreated['data'] {
  const address = addressOfSession(change.sessionId ?? SESSION_ID);
  const option = {
    coin: 'USDT' as const,
    tokenAddress: '0xToken',
    address,
    derivationIndex: 1,
    finality: { kind: 'finalized' as const },
  };
  return {
    sessionId: SESSION_ID,
    mode: 'test',
    merchantId: MERCHANT_ID,
    orderId: 'order-1',
    requestHash: 'hash',
    amount: '10.00',
    currency: 'USDT',
    dueCoin: 'USDT',
    dueAmount: '10.00',
    rateLock: null,
    taxAmount: null,
    shippingAmount: null,
    createdAtSec: CREATED_AT,
    expiresAtSec: EXPIRES_AT,
    paymentOptions: [
      { network: 'ethereum', chainId: '31337', decimals: 6, ...option },
      { network: 'bsc', chainId: '31338', decimals: 18, ...option },
    ],
    policy: { tolerance: '0', dustLimit: '0.01' },
    domainId: null,
    personal: null,
    ...change,
  };
}

/**
 * The same of an order of 10 EUR for which the payer may choose between 10 USDT and 10.02 USDC; USDC on Ethereum alone.
 */
export function choiceFacts(change: Partial<SessionCreated['data']> = {}): SessionCreated['data'] {
  const facts = createdFacts({
    currency: 'EUR',
    rateLock: { rate: '1', lockedAtSec: CREATED_AT, rule: 'median-1', quotes: [] },
    ...change,
  });
  const rateLock = { rate: '1.002', lockedAtSec: CREATED_AT, rule: 'median-1', quotes: [] };
  return {
    ...facts,
    paymentOptions: [...facts.paymentOptions, { ...facts.paymentOptions[0]!, coin: 'USDC', tokenAddress: '0xOther' }],
    alternative: { coin: 'USDC', dueAmount: '10.02', rateLock, tolerance: '0', dustLimit: '0.01' },
  };
}

/** A transfer of 10 USDT to the session on Ethereum, one minute after creation; any fact can be replaced. */
export function depositFacts(change: Partial<DepositFacts> = {}): DepositFacts {
  const txHash = change.txHash ?? '0x01';
  const network = change.network ?? 'ethereum';
  const logIndex = change.logIndex ?? 0;
  return {
    depositKey: `${network}:${txHash}:${logIndex}`,
    network,
    coin: 'USDT',
    tokenAddress: '0xToken',
    amount: '10.00',
    fromAddress: '0xPayer',
    toAddress: addressOfSession(SESSION_ID),
    txHash,
    logIndex,
    blockNumber: 100,
    blockHash: '0xblock',
    blockTimeSec: CREATED_AT + 60,
    ...change,
  };
}

/** Of the coins' tokens, by network. */
export const TOKEN_DECIMALS = { ethereum: 6, bsc: 18, tron: 6, solana: 6 } as const;

/** A refund of all the USDT that is left, whoever paid; any field can be replaced. */
export function refundCommand(change: Partial<RequestRefund> = {}): RequestRefund {
  return {
    type: 'RequestRefund',
    refundId: 're_a' as RefundId,
    coin: 'USDT',
    units: null,
    asked: null,
    namedDeposit: null,
    decimals: TOKEN_DECIMALS,
    reason: null,
    idempotencyStream: null,
    acknowledgedSender: true,
    senders: {},
    nowSec: EXPIRES_AT,
    ...change,
  };
}

/** Ten USDT before the deadline; any field can be replaced. */
export const sessionPaid = (change: Partial<SessionPaid['data']>): SessionPaid => ({
  type: 'SessionPaid',
  data: {
    coin: 'USDT',
    due: '10.00',
    received: '10.00',
    excess: '0.00',
    paidAtSec: EXPIRES_AT - 100,
    afterExpiry: false,
    valuation: null,
    ...change,
  },
});

export const depositDetected = (
  facts: DepositFacts,
  kind: DepositDetected['data']['kind'] = 'on_time',
): DepositDetected => ({
  type: 'DepositDetected',
  data: { ...facts, kind },
});

/** By the chain's own finality; any field can be replaced. */
export const depositConfirmed = (
  { depositKey, blockNumber, blockHash, blockTimeSec }: DepositFacts,
  change: Partial<DepositConfirmed['data']> = {},
): DepositConfirmed => ({
  type: 'DepositConfirmed',
  data: {
    rule: { kind: 'finalized' },
    ...{ depositKey, blockNumber, blockHash, blockTimeSec, headNumber: blockNumber + 20 },
    ...change,
  },
});

/** By a reorganisation after it was final; any field can be replaced. */
export const depositReverted = (
  depositKey: string,
  change: Partial<DepositReverted['data']> = {},
): DepositReverted => ({
  type: 'DepositReverted',
  data: {
    ...{ depositKey, reason: 'reorg', afterFinal: true, headNumber: 300, revertedAtSec: 1_800_000_500 },
    ...change,
  },
});
