import { depositTransactionId } from '../../projections/sessions/transaction-id.ts';
import { createHmac, createSecretKey } from 'node:crypto';
import { base32, type RefundId, type SessionId } from '../../src/domain/values/ids.ts';
import { amountOf, convertForPayer, formatAmount, isCoin } from '../../src/domain/money/money.ts';
import type { PaymentOption } from '../../src/domain/events/session-events.ts';
import type { Refusal } from '../../src/domain/values/result.ts';
import type {
  Caller,
  CreateSessionInput,
  MerchantApi,
  Outcome,
  RefundInput,
} from '../../src/features/shared/merchant-api.ts';
import type { RefundView, SessionView } from '../../src/features/shared/views.ts';

export const KNOWN_DOMAIN = 'dom_known';
const SESSION_TTL_SEC = 1800;
const RATES: Readonly<Record<string, string>> = { USD: '1.0002', EUR: '1.08', CNY: '0.139' };

const refusal = (code: Refusal['code'], message: string, param?: string): Outcome<never> => ({
  ok: false,
  refusal: param === undefined ? { code, message } : { code, message, param },
});
const notFound = refusal('not_found', 'no such session');

const ETHEREUM_OPTION: PaymentOption = {
  network: 'ethereum',
  coin: 'USDT',
  tokenAddress: '0xdAC17F958D2ee523a2206206994597C13D831ec7',
  decimals: 6,
  chainId: '31337',
  address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  derivationIndex: 7,
  finality: { kind: 'confirmations', confirmations: 12 },
};
const BSC_OPTION: PaymentOption = {
  ...ETHEREUM_OPTION,
  network: 'bsc',
  decimals: 18,
  chainId: '31338',
  finality: { kind: 'finalized' },
};

interface Kept {
  view: SessionView;
  readonly request: string;
}

/**
 * The command side in memory, with the design's rules for duplicates, cancels and refunds, for tests of what is in
 * front of it.
 */
export class FakeMerchantApi implements MerchantApi {
  readonly sessions = new Map<string, Kept>();
  readonly refunds = new Map<string, { readonly owner: string; readonly view: RefundView }>();
  readonly callers: Caller[] = [];
  /** Thrown by the next command, to see what the HTTP layer makes of a bug or a lost store. */
  failNext: Error | null = null;
  readonly #nowSec: () => number;

  constructor() {
    this.#nowSec = () => Math.floor(Date.now() / 1000);
  }

  async createSession(caller: Caller, input: CreateSessionInput): Promise<Outcome<SessionView>> {
    this.#called(caller);
    const id = idOf(caller, input.orderId);
    const request = JSON.stringify(input);
    const kept = this.sessions.get(id);
    if (kept)
      return kept.request === request
        ? { ok: true, value: kept.view, repeated: true }
        : refusal('order_id_conflict', 'order_id is taken', 'order_id');
    if (input.mismatch) return { ok: false, refusal: input.mismatch };
    if (input.merchantDomainId !== undefined && input.merchantDomainId !== KNOWN_DOMAIN) {
      return refusal(
        'invalid_request',
        'merchant_domain_id is not a domain registered for this merchant',
        'merchant_domain_id',
      );
    }
    const coin = input.targetCurrency ?? (isCoin(input.currency) ? input.currency : 'USDT');
    const rate = coin === input.currency ? null : RATES[input.currency];
    if (rate === undefined)
      return {
        ok: false,
        refusal: { code: 'rate_unavailable', message: `no usable rate for ${input.currency}` },
        retryAfterSec: 7,
      };
    const view = sessionView(caller, id, input, { coin, rate, nowSec: this.#nowSec() });
    this.sessions.set(id, { view, request });
    return { ok: true, value: view };
  }

  async getSession(reader: Pick<Caller, 'merchantId' | 'mode'>, id: SessionId): Promise<SessionView | null> {
    this.#fail();
    return this.#own(reader, id)?.view ?? null;
  }

  async cancelSession(caller: Caller, id: SessionId): Promise<Outcome<SessionView>> {
    this.#called(caller);
    const kept = this.#own(caller, id);
    if (!kept) return notFound;
    if (kept.view.status === 'paid') return refusal('session_already_paid', 'the session is paid');
    if (kept.view.status !== 'open') return refusal('session_expired', 'the session has expired');
    kept.view = { ...kept.view, status: 'cancelled', expiresAtSec: this.#nowSec() };
    return { ok: true, value: kept.view };
  }

  async requestRefund(caller: Caller, input: RefundInput): Promise<Outcome<RefundView>> {
    this.#called(caller);
    const kept = this.#own(caller, input.sessionId);
    if (!kept) return notFound;
    const { view } = kept;
    if (view.status !== 'paid') return refusal('session_not_paid', 'nothing was received');
    const asked = input.amount ? amountOf(input.amount.value) : amountOf(view.refundable);
    if (asked > amountOf(view.refundable)) return refusal('refund_exceeds_paid', 'more than is left', 'amount');
    kept.view = {
      ...view,
      refundable: formatAmount(amountOf(view.refundable) - asked),
      refunded: formatAmount(amountOf(view.refunded) + asked),
    };
    const refund = refundView(view, formatAmount(asked), input.reason ?? null, this.#nowSec(), this.refunds.size);
    this.refunds.set(refund.refundId, { owner: ownerOf(caller), view: refund });
    return { ok: true, value: refund };
  }

  async getRefund(reader: Pick<Caller, 'merchantId' | 'mode'>, id: RefundId): Promise<RefundView | null> {
    const kept = this.refunds.get(id);
    return kept && kept.owner === ownerOf(reader) ? kept.view : null;
  }

  /** Makes the session paid by one final deposit of what is due. */
  pay(id: string): void {
    const kept = this.sessions.get(id)!;
    const { view } = kept;
    const option = view.paymentOptions[0]!;
    kept.view = {
      ...view,
      status: 'paid',
      paidAtSec: this.#nowSec(),
      paidWith: view.dueAmount,
      received: view.dueAmount,
      refundable: view.dueAmount,
      deposits: [
        {
          transactionId: depositTransactionId(view.sessionId, 'ethereum:0xabc:3'),
          depositKey: 'ethereum:0xabc:3',
          network: option.network,
          coin: option.coin,
          tokenAddress: option.tokenAddress,
          amount: view.dueAmount,
          fromAddress: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
          toAddress: option.address,
          txHash: '0xabc',
          logIndex: 3,
          blockNumber: 12,
          blockHash: '0xdef',
          blockTimeSec: this.#nowSec(),
          kind: 'on_time',
          status: 'final',
          sender: { kind: 'wallet', name: null },
          refundable: view.dueAmount,
        },
      ],
    };
  }

  #own(reader: Pick<Caller, 'merchantId' | 'mode'>, id: SessionId): Kept | undefined {
    const kept = this.sessions.get(id);
    return kept && kept.view.merchantId === reader.merchantId && kept.view.mode === reader.mode ? kept : undefined;
  }

  #called(caller: Caller): void {
    this.callers.push(caller);
    if (this.callers.length > 1000) this.callers.splice(0, 500);
    this.#fail();
  }

  #fail(): void {
    const error = this.failNext;
    this.failNext = null;
    if (error) throw error;
  }
}

const ID_KEY = createSecretKey(Buffer.from('ids of the tests'));

const ownerOf = (reader: Pick<Caller, 'merchantId' | 'mode'>): string => `${reader.mode}/${reader.merchantId}`;

function idOf(caller: Caller, orderId: string): SessionId {
  const mac = createHmac('sha256', ID_KEY)
    .update(`${ownerOf(caller)}/${orderId}`)
    .digest();
  return `cs_${base32(mac.subarray(0, 20))}` as SessionId;
}

/** A fresh session as the command side would show it. */
export function sessionView(
  caller: Caller,
  sessionId: SessionId,
  input: CreateSessionInput,
  terms: { coin: 'USDT' | 'USDC'; rate: string | null; nowSec: number },
): SessionView {
  const { coin, rate, nowSec } = terms;
  const due = rate === null ? input.amount : formatAmount(convertForPayer(amountOf(input.amount), rate, 2, 6));
  const { description, lineItems, metadata, successUrl, cancelUrl } = input;
  return {
    sessionId,
    mode: caller.mode,
    merchantId: caller.merchantId,
    orderId: input.orderId,
    supersedes: null,
    supersededBy: null,
    status: 'open',
    amount: input.amount,
    currency: input.currency,
    dueCoin: coin,
    tolerance: '0.00',
    dueAmount: due,
    rateLock: rate === null ? null : { rate, lockedAtSec: nowSec, rule: 'test', quotes: [] },
    taxAmount: input.taxAmount ?? null,
    shippingAmount: input.shippingAmount ?? null,
    createdAtSec: nowSec,
    expiresAtSec: nowSec + SESSION_TTL_SEC,
    alternative: null,
    paymentOptions: [
      { ...ETHEREUM_OPTION, coin },
      { ...BSC_OPTION, coin },
    ],
    domainId: input.merchantDomainId ?? null,
    personal: {
      ...(description === undefined ? undefined : { description }),
      ...(lineItems === undefined ? undefined : { lineItems }),
      ...(metadata === undefined ? undefined : { metadata }),
      ...(successUrl === undefined ? undefined : { successUrl }),
      ...(cancelUrl === undefined ? undefined : { cancelUrl }),
    },
    received: '0.00',
    pending: '0.00',
    excess: '0.00',
    refunded: '0.00',
    refundable: '0.00',
    refundableByCoin: [
      { coin: 'USDT', amount: '0.00' },
      { coin: 'USDC', amount: '0.00' },
    ],
    reversed: false,
    afterExpiry: false,
    paidAtSec: null,
    paidWith: null,
    deposits: [],
    refunds: [],
  };
}

function refundView(
  view: SessionView,
  amount: string,
  reason: string | null,
  nowSec: number,
  count: number,
): RefundView {
  const deposit = view.deposits[0]!;
  return {
    refundId: `re_${base32(Buffer.alloc(16, count + 1))}` as RefundId,
    sessionId: view.sessionId,
    orderId: view.orderId,
    coin: view.dueCoin,
    amount,
    type: amountOf(amount) === amountOf(view.refundable) ? 'full' : 'partial',
    status: 'PENDING',
    reason,
    payouts: [
      {
        legId: 'leg',
        network: deposit.network,
        coin: deposit.coin,
        toAddress: deposit.fromAddress!,
        amount,
        status: 'PENDING',
        txHash: null,
        networkFee: null,
        failureReason: null,
      },
    ],
    createdSec: nowSec,
    updatedSec: nowSec,
    failureReason: null,
    amountReturned: '0.00',
  };
}
