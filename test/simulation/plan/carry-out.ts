import type { MerchantApi } from '../../../src/features/shared/merchant-api.ts';
import { pairOf, situationsOf } from '../coverage.ts';
import { SOUND } from '../chain/simulated-provider.ts';
import { accountOf, payerOn, priceOf, TOKENS } from '../networks.ts';
import { START_MS, type World } from '../world.ts';
import { beginAmid } from './aim.ts';
import { Operators } from './operators.ts';
import {
  endOf,
  FAULT_KINDS,
  type ModelledNetwork,
  type Order,
  type Pay,
  type Plan,
  type ProviderFault,
  type Refund,
  type Step,
} from './plan.ts';
import { fromUnits, toUnits } from './units.ts';

type SessionView = Extract<Awaited<ReturnType<MerchantApi['createSession']>>, { ok: true }>['value'];
type RefundView = Extract<Awaited<ReturnType<MerchantApi['requestRefund']>>, { ok: true }>['value'];

/** What people outside know: what they were promised, and what they did. */
export interface Facts {
  readonly sessions: Map<string, { readonly merchant: number; readonly view: SessionView }>;
  readonly payments: {
    readonly order: string;
    readonly pay: Pay;
    readonly txHash: string;
    readonly to: string;
    readonly units: bigint;
  }[];
  readonly refunds: { readonly order: string; readonly key: string; readonly view: RefundView }[];
  readonly cancelled: Set<string>;
  readonly refusals: { readonly what: string; readonly code: string }[];
}

/** After these a chain may not be read for a while. */
const TROUBLES: ReadonlySet<string> = new Set([
  'provider',
  'halt',
  'kill',
  'upgrade',
  'restore',
  'pause',
  'behind',
  'store',
  'leases',
]);
const RETRY_MS = 4_000;
/** How long what happens in a moment is felt. */
const FELT_MS = 60_000;
const LATEST_MS = 6 * 3_600_000;
/** Seconds for everything to settle once nobody is at fault any more. */
export const SETTLING_SEC = 3 * 3_600;

/** What people do when nobody answers: the same again, until somebody does. */
export class CarriedOut {
  readonly facts: Facts = { sessions: new Map(), payments: [], refunds: [], cancelled: new Set(), refusals: [] };
  /** Requests that nobody has answered yet. */
  #asking = 0;
  readonly #world: World;
  readonly #plan: Plan;
  readonly #operators: Operators;
  /** What is wrong at the moment. */
  #wrong: { readonly kind: string; readonly untilMs: number }[] = [];

  constructor(world: World) {
    this.#world = world;
    this.#operators = new Operators(world);
    this.#plan = world.plan;
  }

  schedule(): void {
    for (const step of this.#plan.steps)
      this.#world.scheduler.at(START_MS + step.atSec * 1000, null, () =>
        beginAmid(this.#world, step, () => this.#begin(step)),
      );
  }

  get isIdle(): boolean {
    return this.#asking === 0 && this.#operators.isIdle;
  }

  get endSec(): number {
    return Math.max(60, ...this.#plan.steps.map(endOf));
  }

  #begin(step: Step): void {
    const world = this.#world;
    world.timeline.add('plan', JSON.stringify(step));
    this.#count(step);
    if (TROUBLES.has(step.kind))
      world.troubledMs = Math.max(
        world.troubledMs,
        world.scheduler.nowMs + ('forSec' in step ? step.forSec * 1000 : 0),
      );
    if ('forSec' in step) world.scheduler.after(step.forSec * 1000, null, () => this.#end(step));
    switch (step.kind) {
      case 'order':
        for (let copy = 0; copy < step.copies; copy += 1) void this.#order(step);
        return;
      case 'pay':
        return this.#pay(step);
      case 'cancel':
        return void this.#cancel(step.order);
      case 'refund':
        for (let copy = 0; copy < step.copies; copy += 1) void this.#refund(step);
        return;
      case 'reorg':
        return world
          .chainOf(step.network)
          .chain.reorganise(step.depth, () => world.prng.chance(step.losesPercent / 100), step.laterSec);
      case 'pool':
        return world.chainOf(step.network).chain.forgetPool(({ signed }) => signed !== null);
      case 'provider':
        return this.#setFaults(step, step.faults);
      case 'receiver':
        return void world.receivers.behaviours.set(world.merchants[step.merchant]!.url, step.behaviour);
      case 'halt':
        return void (world.chainOf(step.network).chain.isHalted = true);
      case 'fees': {
        const { chain } = world.chainOf(step.network);
        chain.price = priceOf(step.network, step.price);
        if (step.stays) chain.lastingPrice = chain.price;
        return;
      }
      case 'frozen':
        return void world.chainOf(step.network).chain.frozen.add(payerOn(step.network, step.payer));
      case 'paused':
        return void (world.chainOf(step.network).chain.isPaused = true);
      case 'kill':
        return world.killNode(step.node);
      case 'upgrade':
        world.disk.forgetRows(step.node, step.newShare);
        return world.killNode(step.node);
      case 'restore':
        return world.restore(step.oldSec);
      case 'pause':
        return world.nodes[step.node]?.pause(world.scheduler.nowMs, step.forSec * 1000);
      case 'attack':
        return void (world.isAttacked = true);
      case 'socket':
        return void (world.isSocketFalse = true);
      case 'operator':
        if (step.act === 'misplace') return this.#misplace(step.network);
        return void this.#operators.carryOut(step);
      case 'stopped':
        return this.#operators.stop();
      case 'behind':
        return world.nodes[step.node]?.setBehind(true);
      case 'clock':
        return world.setClock(step.node, step.skewSec * 1000);
      case 'store':
        return void Object.assign(world.log.faults, {
          ...{ unknownOutcomes: step.unknownOutcomes, isAway: step.isAway, slowMs: step.slowMs ?? 0 },
        });
      case 'leases':
        if (step.forgets) world.disk.leaseServer.forget();
        return void (world.disk.leaseServer.isAway = !step.forgets);
    }
  }

  /** Together with whatever else is wrong at the moment. */
  #count(step: Step): void {
    const { timeline, scheduler } = this.#world;
    for (const situation of situationsOf(step)) timeline.count(situation);
    if (!FAULT_KINDS.includes(step.kind)) return;
    this.#wrong = this.#wrong.filter(({ untilMs }) => untilMs > scheduler.nowMs);
    for (const kind of new Set(this.#wrong.map((one) => one.kind))) timeline.count(pairOf(kind, step.kind));
    const forMs = 'forSec' in step ? step.forSec * 1000 : FELT_MS;
    this.#wrong.push({ kind: step.kind, untilMs: scheduler.nowMs + forMs });
  }

  #end(step: Extract<Step, { readonly forSec: number }>): void {
    const world = this.#world;
    world.timeline.add('plan', `over: ${step.kind}`);
    switch (step.kind) {
      case 'provider':
        return this.#setFaults(step, SOUND);
      case 'receiver':
        return void world.receivers.behaviours.delete(world.merchants[step.merchant]!.url);
      case 'halt':
        return void (world.chainOf(step.network).chain.isHalted = false);
      case 'fees': {
        const { chain } = world.chainOf(step.network);
        return void (chain.price = chain.lastingPrice);
      }
      case 'frozen':
        return void world.chainOf(step.network).chain.frozen.delete(payerOn(step.network, step.payer));
      case 'paused':
        return void (world.chainOf(step.network).chain.isPaused = false);
      case 'attack':
        return void (world.isAttacked = false);
      case 'socket':
        return void (world.isSocketFalse = false);
      case 'pause':
        // The process goes on by itself.
        return;
      case 'kill':
      case 'upgrade':
        return world.nodes[step.node] === null ? world.startNode(step.node) : undefined;
      case 'restore':
        for (const [number, node] of world.nodes.entries()) if (node === null) world.startNode(number);
        void this.#operators.takeOver(
          (refundId) => this.facts.refunds.find(({ view }) => view.refundId === refundId)?.view.sessionId,
        );
        return this.#orderAgain();
      case 'stopped':
        return void this.#operators.resume();
      case 'behind':
        return world.nodes[step.node]?.setBehind(false);
      case 'clock':
        return world.setClock(step.node, 0);
      case 'store':
        return void Object.assign(world.log.faults, { unknownOutcomes: 0, isAway: false, slowMs: 0 });
      case 'leases':
        return void (world.disk.leaseServer.isAway = false);
    }
  }

  #setFaults({ network, provider }: ProviderFault, faults: ProviderFault['faults']): void {
    for (const [number, one] of this.#world.chainOf(network).providers.entries())
      if (provider === 'all' || number === provider) Object.assign(one.faults, faults);
  }

  async #order(step: Order): Promise<void> {
    const world = this.#world;
    const merchant = world.merchants[step.merchant]!;
    const { amount, currency, order } = step;
    const answer = await this.#insist(`order ${order}`, (requestId) =>
      world.request(({ core }) =>
        core!.sessions.createSession(world.callerOf(merchant, requestId), { amount, currency, orderId: order }),
      ),
    );
    if (answer?.ok) this.facts.sessions.set(order, { merchant: step.merchant, view: answer.value });
    else if (answer) this.#refused('order', answer.refusal.code);
  }

  /** Merchants send the orders again that a restored log lacks. */
  #orderAgain(): void {
    for (const step of this.#plan.steps) {
      const view = step.kind === 'order' && this.facts.sessions.get(step.order)?.view;
      if (!view || this.#world.log.streamOf(`session-${view.sessionId}`).length > 0) continue;
      this.facts.sessions.delete(step.order);
      void this.#order(step);
    }
  }

  #pay(step: Pay): void {
    const world = this.#world;
    const session = this.facts.sessions.get(step.order);
    const option = session?.view.paymentOptions.find(({ network }) => network === step.network);
    if (!session || !option) return;
    const dueUnits = toUnits(session.view.dueAmount);
    const units = step.coin === 'dust' ? 100n : (dueUnits * BigInt(step.percent)) / 100n;
    if (units <= 0n) return;
    const asset = TOKENS[step.network][step.coin === 'dust' ? 'USDT' : step.coin];
    const to = accountOf(option.address);
    const from = payerOn(step.network, step.payer);
    const txHash = world.chainOf(step.network).chain.pay({ asset, from, to, units });
    this.facts.payments.push({ order: step.order, pay: step, txHash, to, units });
  }

  /** What the newest order that may be paid on a network is due leaves the treasury, and pays nothing. */
  #misplace(network: ModelledNetwork): void {
    const { chain, treasury } = this.#world.chainOf(network);
    for (const { view } of [...this.facts.sessions.values()].toReversed()) {
      const option = view.paymentOptions.find((one) => one.network === network);
      if (!option) continue;
      const to = accountOf(option.address);
      const units = toUnits(view.dueAmount);
      const txHash = chain.pay({ asset: TOKENS[network].USDT, from: treasury, to, units });
      this.#world.misplaced.add(txHash);
      return void this.#operators.explain();
    }
  }

  async #cancel(order: string): Promise<void> {
    const world = this.#world;
    const session = this.facts.sessions.get(order);
    if (!session) return;
    const merchant = world.merchants[session.merchant]!;
    const answer = await this.#insist(`cancel ${order}`, (requestId) =>
      world.request(({ core }) =>
        core!.sessions.cancelSession(world.callerOf(merchant, requestId, `cancel-${order}`), session.view.sessionId),
      ),
    );
    if (answer?.ok) this.facts.cancelled.add(order);
    else if (answer) this.#refused('cancel', answer.refusal.code);
  }

  async #refund(step: Refund): Promise<void> {
    const world = this.#world;
    const session = this.facts.sessions.get(step.order);
    if (!session) return;
    const merchant = world.merchants[session.merchant]!;
    const { sessionId, dueAmount, dueCoin } = session.view;
    const key = `refund-${step.order}-${step.atSec}`;
    const units = (toUnits(dueAmount) * BigInt(step.percent ?? 0)) / 100n;
    const amount = step.percent === null ? {} : { amount: { value: fromUnits(units), currency: dueCoin } };
    const answer = await this.#insist(`refund ${step.order}`, (requestId) =>
      world.request(({ core }) =>
        core!.sessions.requestRefund(world.callerOf(merchant, requestId, key), {
          sessionId,
          ...amount,
          acknowledgeSender: true,
        }),
      ),
    );
    if (answer?.ok) this.facts.refunds.push({ order: step.order, key, view: answer.value });
    else if (answer) this.#refused('refund', answer.refusal.code);
  }

  #refused(what: string, code: string): void {
    this.facts.refusals.push({ what, code });
    this.#world.timeline.add('refused', `${what}: ${code}`);
    this.#world.timeline.count(`refusal ${what} ${code}`);
  }

  async #insist<Value extends { readonly ok: boolean }>(
    what: string,
    ask: (requestId: string) => Promise<Value | null>,
  ): Promise<Value | null> {
    this.#asking += 1;
    try {
      return await this.#ask(what, ask);
    } finally {
      this.#asking -= 1;
    }
  }

  async #ask<Value extends { readonly ok: boolean }>(
    what: string,
    ask: (requestId: string) => Promise<Value | null>,
  ): Promise<Value | null> {
    const world = this.#world;
    for (let attempt = 1; world.scheduler.nowMs - START_MS < LATEST_MS; attempt += 1) {
      const answer = await ask(`${what} ${attempt}`);
      const isTemporary =
        answer !== null &&
        !answer.ok &&
        (answer as unknown as { refusal: { code: string } }).refusal.code.endsWith('unavailable');
      if (answer !== null && !isTemporary) return answer;
      await new Promise<void>((resolve) => void world.scheduler.after(RETRY_MS, null, resolve));
    }
    return null;
  }
}
