import type { ModelService, ServiceFault } from './shop-kit.ts';
import { asksFor, compareAmounts, type Price } from './shops.ts';

/*
 * The contract for shops as plans: whoever tests a plugin implements `ShopUnderTest` over it and `ModelService`, makes
 * steps at random, and plays them. A broken contract throws `ContractBroken`; whatever else a step throws is a refusal
 * of the shop.
 */

/** An order that the shop placed. */
export interface PlacedOrder {
  readonly order: string;
  readonly price: Price;
  /** The session at the service that paid it; null if it was paid another way. */
  readonly session: string | null;
  readonly cancelled: boolean;
  /** What the shop took for it and does not show as refunded. */
  readonly unrefunded: string;
}

export interface ShopUnderTest {
  readonly service: ModelService;
  /** The orders, or the carts that become orders, of the plan. */
  readonly orders: readonly string[];
  price(order: string): Price;
  /** The customer opens the checkout; the session whose address is shown. */
  open(order: string): Promise<string>;
  /** The customer chooses another way of paying. */
  payOtherwise(order: string): Promise<unknown>;
  change(order: string, amount: string): Promise<unknown>;
  /** The price changes without the plugin being asked. */
  edit(order: string, amount: string): void;
  /** The customer comes back from the payment page. */
  finish(order: string): Promise<unknown>;
  /** The bus hands over a message that it holds back, or one that it handed over before. */
  deliver(which: number, again: boolean): Promise<unknown>;
  /** Everything that is held back. */
  deliverAll(): Promise<unknown>;
  sellOut(isOut: boolean): void;
  refund(order: string, amount: string): Promise<unknown>;
  cancel(order: string): Promise<unknown>;
  acknowledgeSender(order: string): Promise<unknown>;
  returnMoney(order: string): Promise<unknown>;
  /** One order gets what the shop keeps about the payment of another. */
  copy(): void;
  /** The timer. */
  compare(): Promise<unknown>;
  placed(): readonly PlacedOrder[];
  /** What the shop shows as refunded, each with the refund of the service that it stands for. */
  refunds(): readonly { readonly order: string; readonly refund: string | undefined }[];
  /** The orders of sessions, as the service knows them: `true` if this session was made for the order. */
  owns(order: string, session: string): boolean;
  /** All words that people of the shop were told about payments, with their keys or transactions. */
  told(): string;
}

export type ShopStep =
  | {
      readonly do: 'open' | 'buy' | 'pay otherwise' | 'finish' | 'cancel' | 'acknowledge' | 'return';
      readonly order: number;
    }
  | { readonly do: 'change' | 'edit'; readonly order: number; readonly amount: string }
  | {
      readonly do: 'pay';
      readonly order: number;
      /** Which of its sessions, the newest being 0. */
      readonly which: number;
      /** Of what it asks for, in hundredths. */
      readonly percent: number;
      readonly from: 'wallet' | 'contract';
    }
  | { readonly do: 'confirm' | 'copy' | 'compare' }
  | { readonly do: 'expire'; readonly which: number }
  | { readonly do: 'reverse'; readonly which: number; readonly reversed: boolean }
  | { readonly do: 'deliver'; readonly which: number; readonly again: boolean }
  | { readonly do: 'sell out'; readonly isOut: boolean }
  | { readonly do: 'refund'; readonly order: number; readonly amount: string | null; readonly times: number }
  | { readonly do: 'fault'; readonly fault: ServiceFault };

export class ContractBroken extends Error {
  override readonly name = 'ContractBroken';
}

function demand(isSo: boolean, what: string): void {
  if (!isSo) throw new ContractBroken(what);
}

/** Plays the steps, those of one entry at the same time, then lets everything arrive, and looks at what became of it. */
export async function playPlan(shop: ShopUnderTest, plan: readonly (readonly ShopStep[])[]): Promise<void> {
  const seen = new Set<string>();
  let mayHaveLost = false;
  for (const together of plan) {
    mayHaveLost ||= together.some((step) => step.do === 'fault' && step.fault === 'lose');
    await Promise.all(together.map((step) => tried(() => take(shop, step, together.length === 1))));
    demandWholePrices(shop, seen);
  }
  shop.service.fault = 'none';
  for (const { id } of shop.service.sessions()) shop.service.confirm(id);
  await tried(() => shop.deliverAll());
  await shop.compare();
  demandWholePrices(shop, seen);
  demandEachRefundOnce(shop, mayHaveLost);
  demandWords(shop);
  for (const { order, cancelled, unrefunded } of shop.placed())
    demand(!cancelled || compareAmounts(unrefunded, '0.01') < 0, `${order} is called cancelled and was not refunded`);
}

async function tried(step: () => Promise<unknown>): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (error instanceof ContractBroken) throw error;
  }
}

async function take(shop: ShopUnderTest, step: ShopStep, isAlone: boolean): Promise<unknown> {
  const { service } = shop;
  const order = ('order' in step && shop.orders[step.order]) || shop.orders[0] || '';
  const session = ('which' in step && service.sessions().at(step.which)?.id) || service.sessions()[0]?.id;
  switch (step.do) {
    case 'open':
      return open(shop, order, isAlone);
    case 'buy':
      return buy(shop, order);
    case 'pay':
      return pay(shop, order, step);
    case 'pay otherwise':
      return shop.payOtherwise(order);
    case 'change':
      return shop.change(order, step.amount);
    case 'edit':
      return shop.edit(order, step.amount);
    case 'finish':
      return shop.finish(order);
    case 'confirm':
      return service.sessions().forEach(({ id }) => service.confirm(id));
    case 'expire':
      return session !== undefined && service.expire(session);
    case 'reverse':
      return session !== undefined && service.reverse(session, step.reversed);
    case 'deliver':
      return shop.deliver(step.which, step.again);
    case 'sell out':
      return shop.sellOut(step.isOut);
    case 'refund': {
      const amount = step.amount ?? shop.placed().find((one) => one.order === order)?.price.amount ?? '0';
      return Promise.allSettled(Array.from({ length: step.times }, async () => shop.refund(order, amount)));
    }
    default:
      return rest(shop, order, step);
  }
}

function rest(shop: ShopUnderTest, order: string, step: ShopStep): Promise<unknown> | void {
  if (step.do === 'cancel') return shop.cancel(order);
  if (step.do === 'acknowledge') return shop.acknowledgeSender(order);
  if (step.do === 'return') return shop.returnMoney(order);
  if (step.do === 'compare') return shop.compare();
  if (step.do === 'copy') return shop.copy();
  if (step.do === 'fault') shop.service.fault = step.fault;
  return undefined;
}

/** An address that was seen stays while it can be paid and asks for the price. */
async function open(shop: ShopUnderTest, order: string, isAlone: boolean): Promise<void> {
  const price = shop.price(order);
  const canBePaid = (id: string): boolean => ['open', 'processing'].includes(shop.service.session(id).status);
  const waiting = shop.service
    .sessions()
    .find((one) => shop.owns(order, one.id) && canBePaid(one.id) && asksFor(one, price));
  const shown = await shop.open(order);
  // Another step of the same moment may have ended it.
  if (waiting !== undefined && (isAlone || canBePaid(waiting.id)))
    demand(shown === waiting.id, `${order} shows ${shown} instead of ${waiting.id}, which its payer has seen`);
}

async function buy(shop: ShopUnderTest, order: string): Promise<void> {
  const id = await shop.open(order);
  shop.service.pay(id, shop.service.session(id).amount_total);
  shop.service.confirm(id);
  await shop.finish(order);
}

function pay(shop: ShopUnderTest, order: string, step: ShopStep & { readonly do: 'pay' }): void {
  const session = shop.service
    .sessions()
    .filter(({ id }) => shop.owns(order, id))
    .at(-1 - step.which);
  if (session === undefined) return;
  shop.service.pay(session.id, ((Number(session.amount_total) * step.percent) / 100).toFixed(2), step.from);
}

/** An order that is new has its whole price at the service. */
function demandWholePrices(shop: ShopUnderTest, seen: Set<string>): void {
  for (const { order, price, session: id } of shop.placed()) {
    if (seen.has(order)) continue;
    seen.add(order);
    if (id === null) continue;
    const session = shop.service.session(id);
    demand(session.payment_status === 'paid', `${order} was placed while ${id} is not paid`);
    demand(asksFor(session, price), `${order} was placed for ${price.amount}, and ${id} for ${session.amount_total}`);
    demand(
      Number(session.received) + Number(session.refunded) >= Number(session.amount_total),
      `${order} was placed while ${id} holds ${session.received}`,
    );
  }
}

function demandEachRefundOnce(shop: ShopUnderTest, mayHaveLost: boolean): void {
  const shown = shop.refunds();
  const ids = shown.map(({ refund }) => refund);
  demand(!ids.includes(undefined), 'the shop shows a refund that the service never accepted');
  demand(new Set(ids).size === ids.length, 'two refunds of the shop are one at the service');
  for (const { order, refund: id } of shown) {
    const refund = shop.service.refunds().find((one) => one.id === id);
    demand(refund !== undefined && shop.owns(order, refund.session_id), `${order} refunded the money of another order`);
  }
  if (mayHaveLost) return;
  // What is returned since it paid nothing names its deposit, or is no part of what the shop sold.
  for (const { id, reason } of shop.service.refunds())
    demand(ids.includes(id) || reason?.startsWith('Returned') === true, `the shop does not show refund ${id}`);
}

/** Money that is final, pays no order and can pay none any more. */
function demandWords(shop: ShopUnderTest): void {
  const told = shop.told();
  for (const session of shop.service.sessions()) {
    const pays = shop.placed().some((one) => one.session === session.id && shop.owns(one.order, session.id));
    if (!pays && session.status === 'open') continue;
    for (const { transaction_id: id, refundable, status, kind } of session.deposits)
      if (status === 'final' && Number(refundable) > 0 && (!pays || kind === 'late'))
        demand(told.includes(id), `nobody was told of ${id}`);
    if (pays && Number(session.excess) > 0)
      demand(told.includes(session.id), `nobody was told of the surplus of ${session.id}`);
  }
}
