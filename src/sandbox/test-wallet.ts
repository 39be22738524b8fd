import type { SessionId } from '../domain/values/ids.ts';
import { COIN_MAX_DECIMALS } from '../domain/money/currencies.ts';
import { amountOf, formatAmount, roundedUp, type Coin } from '../domain/money/money.ts';
import type { SandboxCase } from '../http/schemas/sandbox.schema.ts';
import type { SandboxApi, SandboxPayRequest, SandboxTransfer } from '../http/routes/sandbox.routes.ts';
import { toSec, type Clock } from '../ports/clock.ts';
import { SandboxPaymentFailed, type SandboxPayer, type SandboxPayment } from './chain.ts';
import type { SandboxChains, SandboxFault } from './chains.ts';
import { canonicalJson } from '../features/shared/canonical-json.ts';
import type { Outcome } from '../features/shared/merchant-api.ts';
import { inCoin } from '../features/shared/coin-choice.ts';
import type { SessionView } from '../features/shared/views.ts';
import type { Idempotency } from '../features/shared/idempotency.ts';
import type { Sessions } from '../features/sessions/sessions.ts';

/** One transfer of a case, before it is made. */
interface Plan {
  readonly payment: Omit<SandboxPayment, 'to'>;
  readonly fault?: SandboxFault;
}

/** The test wallet's amounts have at most six decimals, like most networks. */
const MICRO = 10n ** 12n;

/** The parts of the running core that the wallet needs. */
export interface TestWalletCore {
  readonly sessions: Pick<Sessions, 'getSession' | 'viewSession' | 'moveDeadline'>;
  readonly idempotency: Idempotency;
}

/** The test wallet: pays sessions in every possible way, with real transactions on the local chains. */
export class TestWallet {
  readonly #core: TestWalletCore;
  readonly #chains: Pick<SandboxChains, 'pay' | 'canFault'>;
  readonly #clock: Clock;

  constructor(core: TestWalletCore, chains: Pick<SandboxChains, 'pay' | 'canFault'>, clock: Clock) {
    this.#core = core;
    this.#chains = chains;
    this.#clock = clock;
  }

  /** For the merchant's key: only its own test sessions. */
  get api(): SandboxApi {
    return {
      pay: async (caller, request) => {
        const session = await this.#core.sessions.getSession(caller, request.sessionId);
        if (!session) return refused('not_found', 'no such resource');
        return this.#core.idempotency.once(caller, {
          operation: 'sandbox.pay',
          requestHash: canonicalJson(request),
          mayRunTwice: false,
          run: () => this.#pay(session, request),
        });
      },
      advance: async (caller, id, seconds) => {
        const session = await this.#core.sessions.getSession(caller, id);
        if (!session) return refused('not_found', 'no such resource');
        return this.#core.idempotency.once(caller, {
          operation: 'sandbox.advance',
          requestHash: canonicalJson([id, seconds]),
          mayRunTwice: false,
          run: () => this.#advance(session, seconds, caller.requestId),
        });
      },
    };
  }

  /** For the operator and the payment page, which have the session's id. */
  async pay(
    id: SessionId,
    request: Omit<SandboxPayRequest, 'sessionId'>,
  ): Promise<Outcome<readonly SandboxTransfer[]>> {
    const session = await this.#core.sessions.viewSession(id);
    return session?.mode === 'test'
      ? this.#pay(session, { ...request, sessionId: id })
      : refused('not_found', 'no such test session');
  }

  async #pay(view: SessionView, request: SandboxPayRequest): Promise<Outcome<readonly SandboxTransfer[]>> {
    if (request.case === 'wrong_coin' && view.alternative)
      return refused(
        'invalid_request',
        'the session accepts either coin until money arrives, so neither is wrong',
        'case',
      );
    const session = inCoin(view, request.coin);
    const option = session.paymentOptions.find(({ network }) => network === request.network);
    if (!option) return refused('invalid_request', `the session does not offer ${request.network}`, 'network');
    const plans = plansOf(session, request);
    if (plans === null) return refused('invalid_request', 'nothing is missing: name an amount', 'amount');
    if (plans.some(({ fault }) => fault) && !this.#chains.canFault(request.network))
      return refused(
        'invalid_request',
        `the local ${request.network} chain never reverts a block: choose another network`,
        'case',
      );
    if (request.case === 'late') {
      const late = await this.#untilLate(session);
      if (!late.ok) return late;
    }
    const transfers: SandboxTransfer[] = [];
    for (const { payment, fault } of plans) {
      try {
        const paid = await this.#chains.pay(request.network, { ...payment, to: option.address }, fault);
        transfers.push({
          network: request.network,
          coin: payment.coin,
          amount: payment.amount,
          fromAddress: paid.fromAddress,
          toAddress: option.address,
          txHash: paid.txHash,
        });
      } catch (error) {
        // After a first transfer the response must not claim that nothing was done.
        if (error instanceof SandboxPaymentFailed && transfers.length === 0)
          return refused('service_unavailable', error.message);
        throw error;
      }
    }
    return { ok: true, value: transfers };
  }

  /** Moves a future deadline to now, and waits until the next block is later. */
  async #untilLate(session: SessionView): Promise<Outcome<number>> {
    if (session.status === 'paid')
      return refused('invalid_request', 'the session is paid: no payment can be late for it', 'case');
    const moved =
      toSec(this.#clock.nowMs()) > session.expiresAtSec
        ? ({ ok: true, value: session.expiresAtSec } as const)
        : await this.#advance(session, null, 'test-wallet');
    if (!moved.ok) return moved;
    const left = moved.value + 1 - toSec(this.#clock.nowMs());
    if (left >= 0) await new Promise((resolve) => setTimeout(resolve, (left + 1) * 1000));
    return moved;
  }

  #advance(session: SessionView, seconds: number | null, correlationId: string): Promise<Outcome<number>> {
    const expiresAtSec = seconds === null ? 0 : session.expiresAtSec - seconds;
    return this.#core.sessions.moveDeadline(session.sessionId, expiresAtSec, { correlationId, actor: 'sandbox' });
  }
}

/** Null if there is nothing to pay. */
function plansOf(session: SessionView, request: SandboxPayRequest): Plan[] | null {
  const due = amountOf(session.dueAmount);
  // Refunded money of a paid order is not owed again.
  const owed = session.status === 'paid' ? 0n : due - amountOf(session.received) - amountOf(session.pending);
  const missing = roundedUp(owed, COIN_MAX_DECIMALS);
  const coin = request.coin ?? session.dueCoin;
  if (
    request.amount === undefined &&
    missing <= 0n &&
    ONLY_WHAT_IS_MISSING.has(request.case) &&
    coin === session.dueCoin
  )
    return null;
  const payer = PAYERS[request.case];
  const of = (units: bigint, more: Partial<SandboxPayment> = {}): Plan => ({
    payment: { coin, amount: request.amount ?? formatAmount(units), ...(payer !== undefined && { payer }), ...more },
  });
  switch (request.case) {
    case 'partial':
      return [of(micros(due / 2n))];
    case 'over':
      return [of(micros(due + due / 10n) + MICRO)];
    case 'wrong_coin':
      return [of(due, { coin: request.coin ?? other(session.dueCoin) })];
    case 'two_payers': {
      const total = request.amount === undefined ? missing : amountOf(request.amount);
      const half = micros(total / 2n);
      return [
        { payment: { coin, amount: formatAmount(half) } },
        { payment: { coin, amount: formatAmount(total - half), payer: 'second' } },
      ];
    }
    case 'reorg':
      return [{ ...of(missing), fault: 'payThenReorg' }];
    case 'lost':
      return [{ ...of(missing), fault: 'payThenLose' }];
    case 'contract_payer':
    case 'exchange_payer':
    case 'frozen_payer':
    case 'late':
    case 'exact':
      return [of(request.coin !== undefined && request.coin !== session.dueCoin ? due : missing)];
  }
}

/** Without an amount these cases pay what is still missing. */
const ONLY_WHAT_IS_MISSING: ReadonlySet<SandboxCase> = new Set([
  ...(['exact', 'late', 'two_payers', 'reorg', 'lost'] as const),
  ...(['contract_payer', 'exchange_payer', 'frozen_payer'] as const),
]);
/** The payer in cases about the payer. */
const PAYERS: { readonly [kind in SandboxCase]?: SandboxPayer } = {
  contract_payer: 'contract',
  exchange_payer: 'exchange',
  frozen_payer: 'frozen',
};
const micros = (units: bigint): bigint => units - (units % MICRO);
const other = (coin: Coin): Coin => (coin === 'USDT' ? 'USDC' : 'USDT');

const refused = (
  code: 'not_found' | 'invalid_request' | 'service_unavailable',
  message: string,
  param?: string,
): Outcome<never> => ({
  ok: false,
  refusal: { code, message, ...(param !== undefined && { param }) },
});
