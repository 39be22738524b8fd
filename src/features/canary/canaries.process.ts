import { CANARY_STEPS, type CanaryStep } from '../../domain/canary.ts';
import type { CanaryPaymentEnded, CanaryPaymentStarted } from '../../domain/events/operations-events.ts';
import type { Mode } from '../../domain/values/ids.ts';
import { amountOf, type Coin } from '../../domain/money/money.ts';
import type { Network } from '../../domain/networks/networks.ts';
import { canaryStream } from '../../domain/values/streams.ts';
import { toSec } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { appendNext, type AppendNextDeps } from '../../runtime/commands/append-next.ts';
import { messageOf } from '../../runtime/util/message-of.ts';
import { canaryHistory, type CanaryReader, type CanaryRun } from './history.ts';
import { canaryRound, isBack, type CanaryPayer, type CanaryShop } from './round.ts';
import { must } from '../../domain/values/must.ts';

/** Status of one network, for metrics. */
export interface CanaryStatus {
  readonly mode: Mode;
  readonly network: Network;
  /** Duration of the step in the last payment, or in the running one if that is longer, in seconds. */
  readonly stepSec: (step: CanaryStep) => number | null;
  /** Result of the last finished payment; null before the first. */
  readonly isOk: boolean | null;
  readonly endedAtSec: number | null;
  /** Why no payment is made at present; null if nothing prevents it. */
  readonly heldUp: string | null;
}

export interface CanariesDeps extends AppendNextDeps {
  readonly store: AppendNextDeps['store'] & CanaryReader;
  readonly shop: CanaryShop;
  readonly mode: Mode;
  readonly payers: ReadonlyMap<Network, CanaryPayer>;
  readonly coin: Coin;
  readonly amount: string;
  /** Most units of the coin that may be missing from a wallet: paid within a day and not refunded. */
  readonly maxOut: string;
  readonly everySec: number;
  readonly log: Log;
  /** Rejects once the signal is aborted. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

const DAY_SEC = 86_400;
/** Number of recent payments checked for outstanding money. */
const LOOKED_AT = 100;
/** Retry a minute later, so that a wallet is used soon after it was filled. */
const HELD_UP_MS = 60_000;

/** Makes a payment to itself on each network periodically, to notice first what payers and merchants would notice. */
export class Canaries {
  readonly #deps: CanariesDeps;
  readonly #ending = new AbortController();
  readonly #networks: readonly CanaryNetwork[];
  #running: Promise<unknown> = Promise.resolve();

  constructor(deps: CanariesDeps) {
    this.#deps = deps;
    this.#networks = [...deps.payers].map(
      ([network, payer]) => new CanaryNetwork(network, payer, deps, this.#ending.signal),
    );
  }

  start(): void {
    const apartMs = (this.#deps.everySec * 1000) / Math.max(1, this.#networks.length);
    this.#running = Promise.all(this.#networks.map((network, place) => network.run(place * apartMs)));
  }

  status(): CanaryStatus[] {
    return this.#networks.map((network) => network.status());
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }
}

class CanaryNetwork {
  readonly #network: Network;
  readonly #payer: CanaryPayer;
  readonly #deps: CanariesDeps;
  readonly #ending: AbortSignal;
  readonly #lastMs = new Map<CanaryStep, number>();
  #current: { readonly step: CanaryStep; readonly sinceMs: number } | null = null;
  #last: Pick<CanaryRun, 'failure' | 'endedAtSec'> | null = null;
  #heldUp: string | null = null;

  constructor(network: Network, payer: CanaryPayer, deps: CanariesDeps, ending: AbortSignal) {
    this.#network = network;
    this.#payer = payer;
    this.#deps = deps;
    this.#ending = ending;
  }

  status(): CanaryStatus {
    const [network, current] = [this.#network, this.#current];
    return {
      ...{ mode: this.#deps.mode, network, heldUp: this.#heldUp },
      isOk: this.#last && this.#last.failure === null,
      endedAtSec: this.#last?.endedAtSec ?? null,
      stepSec: (step) => {
        const runningMs = current?.step === step ? this.#deps.clock.nowMs() - current.sinceMs : 0;
        const lastMs = this.#lastMs.get(step);
        return lastMs === undefined && runningMs === 0 ? null : Math.max(lastMs ?? 0, runningMs) / 1000;
      },
    };
  }

  /**
   * Networks start staggered, so that their payments do not coincide. After a restart each continues from its last
   * payment.
   */
  async run(apartMs: number): Promise<void> {
    const { clock, everySec, log } = this.#deps;
    const [last] = await this.#history(1).catch(() => []);
    if (last?.endedAtSec) this.#take(last);
    const nextMs = last ? (last.startedAtSec + everySec) * 1000 : clock.nowMs() + Math.min(apartMs, HELD_UP_MS);
    await this.#pause(nextMs - clock.nowMs());
    while (!this.#ending.aborted) {
      const startedMs = clock.nowMs();
      try {
        this.#heldUp = await this.#holdUp();
        if (this.#heldUp === null) await this.#round(startedMs);
        else log.warn({ network: this.#network, reason: this.#heldUp }, 'a canary payment is delayed');
      } catch (error) {
        // The event log or the chain did not answer. A failed step does not get here.
        if (!this.#ending.aborted)
          log.warn({ err: error, network: this.#network }, 'a canary payment could not be made');
        this.#heldUp = 'unavailable';
      }
      this.#current = null;
      const waitMs = this.#heldUp === null ? everySec * 1000 : Math.min(HELD_UP_MS, everySec * 1000);
      await this.#pause(startedMs + waitMs - clock.nowMs());
    }
  }

  /** Refunds earlier payments first. Too much outstanding money stops further payments. */
  async #holdUp(): Promise<string | null> {
    const { amount, maxOut } = this.#deps;
    const away = await this.#away();
    if (BigInt(away + 1) * amountOf(amount) > amountOf(maxOut)) return 'money_out';
    return this.#payer.holdUp().catch((error: unknown) => {
      this.#deps.log.warn({ network: this.#network, message: messageOf(error) }, "the canary's wallet cannot be read");
      return 'chain_unavailable';
    });
  }

  /** Number of payments of the last day that are not refunded. */
  async #away(): Promise<number> {
    const { clock, shop } = this.#deps;
    const sinceSec = toSec(clock.nowMs()) - DAY_SEC;
    const runs = (await this.#history(LOOKED_AT)).filter(
      ({ sessionId, startedAtSec, failure, endedAtSec }) =>
        sessionId !== null && startedAtSec > sinceSec && (endedAtSec === null || failure !== null),
    );
    let away = 0;
    for (const { sessionId, amount } of runs) {
      if (amount === null) continue;
      const session = await shop.look(must(sessionId));
      if (isBack({ amount }, session)) continue;
      away += 1;
      if (amountOf(session.refundable) > 0n) await shop.refund(must(sessionId)).catch(() => undefined);
    }
    return away;
  }

  async #round(startedMs: number): Promise<void> {
    const { shop, clock, mode, coin, amount } = this.#deps;
    const network = this.#network;
    const startedAtSec = toSec(startedMs);
    const order = { orderId: `canary-${network}-${startedMs}`, network, coin, amount };
    const outcome = await canaryRound(order, {
      ...{ shop, clock, payer: this.#payer },
      pause: (ms) => this.#pause(ms),
      ending: this.#ending,
      onStep: (step) => (this.#current = { step, sinceMs: clock.nowMs() }),
      onStepDone: ({ step, ms }) => this.#lastMs.set(step, ms),
      onPaying: (sessionId) =>
        this.#write({ type: 'CanaryPaymentStarted', data: { mode, network, coin, amount, sessionId, startedAtSec } }),
    });
    // The service is shutting down, which is not a failure.
    if (this.#ending.aborted) return;
    const ended = { mode, network, ...outcome, startedAtSec, endedAtSec: toSec(clock.nowMs()) };
    this.#take(ended);
    if (outcome.failure)
      this.#deps.log.error({ network, session: outcome.sessionId, ...outcome.failure }, 'a canary payment failed');
    await this.#write({ type: 'CanaryPaymentEnded', data: ended });
  }

  #take({ failure, endedAtSec, steps }: Pick<CanaryRun, 'failure' | 'endedAtSec' | 'steps'>): void {
    this.#last = { failure, endedAtSec };
    for (const { step, ms } of steps) this.#lastMs.set(step, ms);
    // A failed step has no duration, and its previous one is out of date.
    const reached = failure ? CANARY_STEPS.indexOf(failure.step) : CANARY_STEPS.length;
    for (const step of CANARY_STEPS.slice(reached)) this.#lastMs.delete(step);
  }

  #history(limit: number): Promise<CanaryRun[]> {
    const { store, mode } = this.#deps;
    return canaryHistory(store, mode, this.#network, limit);
  }

  async #write(event: CanaryPaymentStarted | CanaryPaymentEnded): Promise<void> {
    const stream = canaryStream(this.#deps.mode, this.#network);
    const last = await this.#deps.store.lastOfStream(stream);
    const { result } = await appendNext(this.#deps, { stream, last, event, actor: 'canary' });
    if (!result.ok) throw new Error('another process is making canary payments');
  }

  #pause(ms: number): Promise<unknown> {
    return this.#ending.aborted
      ? Promise.resolve()
      : this.#deps.pause(Math.max(0, ms), this.#ending).catch(() => undefined);
  }
}
