import { canaryPromiseSec, type CanaryFailure, type CanaryStep, type CanaryStepTime } from '../../domain/canary.ts';
import type { SessionId } from '../../domain/values/ids.ts';
import { amountOf, type Coin } from '../../domain/money/money.ts';
import type { Network } from '../../domain/networks/networks.ts';
import { messageOf } from '../../runtime/util/message-of.ts';

export interface CanaryOrder {
  readonly orderId: string;
  readonly network: Network;
  readonly coin: Coin;
  readonly amount: string;
}

export interface CanarySession {
  /** Whether its transfer was seen, final or not. */
  readonly seen: boolean;
  readonly paid: boolean;
  /** Units of the coin that can be refunded. */
  readonly refundable: string;
  /** Units of the coin that refunds have paid out. */
  readonly refunded: string;
}

/** The service as a merchant uses it: through its public address, with an API key. */
export interface CanaryShop {
  create(order: CanaryOrder): Promise<{ readonly sessionId: SessionId; readonly address: string }>;
  look(id: SessionId): Promise<CanarySession>;
  /** Whether the merchant received the webhook about the payment. */
  isNotified(id: SessionId): Promise<boolean>;
  /** Refunds everything that the session holds. Repeated calls refund it once. */
  refund(id: SessionId): Promise<void>;
}

/** The canary's wallet on one network. */
export interface CanaryPayer {
  /** Why it cannot pay at present, such as `insufficient_funds`; null if it can. */
  holdUp(): Promise<string | null>;
  /** Sends the money and resolves once it is in a block. The signal ends the wait. */
  pay(sessionId: SessionId, address: string, signal: AbortSignal): Promise<void>;
}

export interface CanaryRoundDeps {
  readonly shop: CanaryShop;
  readonly payer: CanaryPayer;
  readonly clock: { nowMs(): number };
  /** Waits between two polls. */
  readonly pause: (ms: number) => Promise<unknown>;
  /** Aborted when the service shuts down. */
  readonly ending: AbortSignal;
  /** Called when a step begins. */
  readonly onStep: (step: CanaryStep) => void;
  readonly onStepDone: (time: CanaryStepTime) => void;
  /** Called before money leaves the wallet. */
  readonly onPaying: (id: SessionId) => Promise<void>;
}

export interface CanaryOutcome {
  readonly sessionId: SessionId | null;
  readonly steps: readonly CanaryStepTime[];
  readonly failure: CanaryFailure | null;
}

/** A step fails once it takes this many times its promised duration. */
const GIVE_UP_FACTOR = 3;
const MAX_REASON_LENGTH = 200;

/** One payment and its refund, with each step timed. */
export async function canaryRound(order: CanaryOrder, deps: CanaryRoundDeps): Promise<CanaryOutcome> {
  const { shop, payer, clock, onPaying } = deps;
  const steps: CanaryStepTime[] = [];
  let sessionId: SessionId | null = null;
  let current: CanaryStep = 'create';
  const step = async <Value>(name: CanaryStep, task: (signal: AbortSignal) => Promise<Value>): Promise<Value> => {
    current = name;
    deps.onStep(name);
    const startedMs = clock.nowMs();
    const value = await withinTime(GIVE_UP_FACTOR * canaryPromiseSec(order.network, name), task, deps.ending);
    const time = { step: name, ms: clock.nowMs() - startedMs };
    steps.push(time);
    deps.onStepDone(time);
    return value;
  };
  const until = async (name: CanaryStep, isDone: () => Promise<boolean>): Promise<void> => {
    let fault: unknown = null;
    const look = (): Promise<boolean> =>
      isDone().then(
        (done) => ((fault = null), done),
        (error: unknown) => ((fault = error), false),
      );
    try {
      await step(name, (signal) => watched(deps, look, signal));
    } catch (error) {
      throw fault === null ? error : new Error(messageOf(error), { cause: fault });
    }
  };
  try {
    const session = await step('create', () => shop.create(order));
    const id = session.sessionId;
    sessionId = id;
    await onPaying(id);
    await step('pay', (signal) => payer.pay(id, session.address, signal));
    await until('seen', async () => (await shop.look(id)).seen);
    await until('final', async () => (await shop.look(id)).paid);
    await until('webhook', () => shop.isNotified(id));
    let asked = false;
    await until('refund', async () => {
      if (!asked) await shop.refund(id);
      asked = true;
      return isBack(order, await shop.look(id));
    });
    return { sessionId, steps, failure: null };
  } catch (error) {
    return { sessionId, steps, failure: { step: current, reason: reasonOf(error).slice(0, MAX_REASON_LENGTH) } };
  }
}

/** With its causes, since a request that failed names its address and fault only there. */
const reasonOf = (error: unknown): string =>
  error instanceof Error && error.cause !== undefined ? `${error.message}: ${reasonOf(error.cause)}` : messageOf(error);

export const isBack = ({ amount }: Pick<CanaryOrder, 'amount'>, { refunded }: CanarySession): boolean =>
  amountOf(refunded) >= amountOf(amount);

async function withinTime<Value>(
  seconds: number,
  task: (signal: AbortSignal) => Promise<Value>,
  ending: AbortSignal,
): Promise<Value> {
  const late = new AbortController();
  const over = AbortSignal.any([late.signal, ending]);
  const given = Promise.withResolvers<never>();
  const giveUp = (): void =>
    given.reject(new Error(ending.aborted ? 'the service is stopping' : `not within ${seconds} s`));
  over.addEventListener('abort', giveUp, { once: true });
  const timer = setTimeout(() => late.abort(), seconds * 1000);
  try {
    if (ending.aborted) giveUp();
    return await Promise.race([task(over), given.promise]);
  } finally {
    clearTimeout(timer);
    over.removeEventListener('abort', giveUp);
    late.abort();
  }
}

const LEAST_PAUSE_MS = 500;
const MOST_PAUSE_MS = 30_000;
/** The pause between polls as a fraction of the time waited so far, which bounds the measurement error. */
const PAUSE_SHARE = 20;

/** Polls until the condition holds. */
async function watched(
  { pause, clock }: CanaryRoundDeps,
  isDone: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  const startedMs = clock.nowMs();
  while (!signal.aborted) {
    if (await isDone()) return;
    await pause(Math.min(MOST_PAUSE_MS, Math.max(LEAST_PAUSE_MS, (clock.nowMs() - startedMs) / PAUSE_SHARE)));
  }
}
