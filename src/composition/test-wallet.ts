import type { MerchantId, Mode, SessionId } from '../domain/ids.ts';
import { COIN_MAX_DECIMALS } from '../domain/currencies.ts';
import { amountOf, formatAmount, roundedUp, type Coin } from '../domain/money.ts';
import type { SandboxApi, SandboxPayRequest, SandboxTransfer } from '../http/routes/sandbox.routes.ts';
import { toSec, type Clock } from '../ports/clock.ts';
import { SandboxPaymentFailed, type SandboxPayment } from '../sandbox/chain.ts';
import type { SandboxChains, SandboxFault } from '../sandbox/chains.ts';
import type { Outcome } from '../features/shared/merchant-api.ts';
import type { SessionView } from '../features/shared/views.ts';
import type { Core } from './core.ts';

/** One transfer of a case, before it is made. */
interface Plan {
  readonly payment: Omit<SandboxPayment, 'to'>;
  readonly fault?: SandboxFault;
}

/** Longest wait of the case `late` for the session's deadline to pass. */
const LATE_WAIT_SEC = 60;
/** Coin amounts of the test wallet have at most six decimals, as most networks do. */
const MICRO = 10n ** 12n;

/** The test wallet: pays sessions in every way a payment can go, with real transactions on the local chains. */
export class TestWallet {
  readonly #core: Core;
  readonly #chains: SandboxChains;
  readonly #clock: Clock;

  constructor(core: Core, chains: SandboxChains, clock: Clock) {
    this.#core = core;
    this.#chains = chains;
    this.#clock = clock;
  }

  /** For the merchant's key: only its own test sessions. */
  get api(): SandboxApi {
    return {
      pay: async (caller: { readonly merchantId: MerchantId; readonly mode: Mode }, request) => {
        const session = await this.#core.sessions.getSession(caller, request.sessionId);
        return session ? this.#pay(session, request) : refused('not_found', 'no such resource');
      },
    };
  }

  /** For the operator and the payment page, who hold the session's id. */
  async pay(id: SessionId, request: Omit<SandboxPayRequest, 'sessionId'>): Promise<Outcome<readonly SandboxTransfer[]>> {
    const session = await this.#core.sessions.viewSession(id);
    return session?.mode === 'test' ? this.#pay(session, { ...request, sessionId: id }) : refused('not_found', 'no such test session');
  }

  async #pay(session: SessionView, request: SandboxPayRequest): Promise<Outcome<readonly SandboxTransfer[]>> {
    const option = session.paymentOptions.find(({ network }) => network === request.network);
    if (!option) return refused('invalid_request', `the session does not offer ${request.network}`, 'network');
    if (request.case === 'late') {
      const waited = await this.#untilLate(session);
      if (!waited)
        return refused(
          'invalid_request',
          `case late waits at most ${LATE_WAIT_SEC} s for the deadline: give the merchant a short session lifetime first`,
          'case',
        );
    }
    const transfers: SandboxTransfer[] = [];
    for (const { payment, fault } of plansOf(session, request)) {
      if (amountOf(payment.amount) <= 0n) return refused('invalid_request', 'nothing is missing; name an amount', 'amount');
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
        if (error instanceof SandboxPaymentFailed) return refused('service_unavailable', error.message);
        throw error;
      }
    }
    return { ok: true, value: transfers };
  }

  async #untilLate(session: SessionView): Promise<boolean> {
    const left = session.expiresAtSec + 1 - toSec(this.#clock.nowMs());
    if (left > LATE_WAIT_SEC) return false;
    if (left >= 0) await new Promise((resolve) => setTimeout(resolve, (left + 1) * 1000));
    return true;
  }
}

function plansOf(session: SessionView, request: SandboxPayRequest): Plan[] {
  const due = amountOf(session.dueAmount);
  const missing = roundedUp(due - amountOf(session.received) - amountOf(session.pending), COIN_MAX_DECIMALS);
  const coin = request.coin ?? session.dueCoin;
  const of = (units: bigint, more: Partial<SandboxPayment> = {}): Plan => ({
    payment: { coin, amount: request.amount ?? formatAmount(units), ...more },
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
      return [{ payment: { coin, amount: formatAmount(half) } }, { payment: { coin, amount: formatAmount(total - half), payer: 'second' } }];
    }
    case 'reorg':
      return [{ ...of(missing), fault: 'payThenReorg' }];
    case 'lost':
      return [{ ...of(missing), fault: 'payThenLose' }];
    case 'late':
    case 'exact':
      return [of(request.coin !== undefined && request.coin !== session.dueCoin ? due : missing)];
  }
}

const micros = (units: bigint): bigint => units - (units % MICRO);
const other = (coin: Coin): Coin => (coin === 'USDT' ? 'USDC' : 'USDT');

const refused = (code: 'not_found' | 'invalid_request' | 'service_unavailable', message: string, param?: string): Outcome<never> => ({
  ok: false,
  refusal: { code, message, ...(param !== undefined && { param }) },
});
