import { openEsdbEventStore } from '../../src/adapters/esdb/event-store.ts';
import { addressFamilyOf } from '../../src/domain/networks/networks.ts';
import type { DomainEvent } from '../../src/domain/events/domain-event.ts';
import type { RecordedEvent } from '../../src/ports/event-log/event-store.ts';
import { decodeEvent } from '../../src/runtime/commands/codec.ts';
import { isSameAccount, outflowsSeen } from '../crash/chain-witness.ts';
import { disagreementOf, type Reconciled } from '../support/reconciled.ts';
import type { ReceivedWebhook } from '../support/webhook-receiver.ts';
import type { Cluster, ClusterNode } from './cluster.ts';
import { everyOrder, type Load, type Order } from './load.ts';

export interface Verdict {
  readonly sessions: number;
  readonly payments: number;
  readonly refunds: number;
  readonly webhooks: number;
  readonly duplicateDeliveries: number;
  readonly violations: readonly string[];
}

/** What the merchant was sent, as of now. */
export type Inbox = () => readonly ReceivedWebhook[];

/** Sweeps of a round's payments take minutes on a machine that has other work. */
const QUIET_MS = 600_000;

/**
 * Waits for the end of everything that was begun, and then holds the event log, the chains, the merchant's inbox and the
 * look-ups against each other.
 */
export async function verify(cluster: Cluster, load: Load, inbox: Inbox): Promise<Verdict> {
  const violations: string[] = load.failures.map((failure) => `never answered: ${failure}`);
  const note = (isRight: boolean, what: string): void => void (isRight || violations.push(what));
  await quiet(load, inbox, violations);
  const events = await eventsOf(cluster);
  const created = countBy(events, 'SessionCreated', (data) => data.orderId as string);
  const accepted = load.orders.filter(({ sessionId }) => sessionId !== null);
  for (const order of accepted) await checkOrder(cluster, load, order, created.get(order.orderId) ?? 0, note);
  note(
    [...created.values()].every((times) => times === 1),
    'an order has several sessions',
  );
  for (const [key, times] of countBy(events, 'DepositDetected', (data) => data.depositKey as string))
    note(times === 1, `deposit ${key} credited ${times} times`);
  for (const [id, times] of countBy(events, 'RefundCompleted', (data) => data.refundId as string))
    note(times === 1, `refund ${id} completed ${times} times`);
  await checkRefundsOnChain(cluster, load.orders, note);
  await checkBooks(cluster, violations);
  const duplicateDeliveries = checkWebhooks(load.orders, inbox, note);
  for (const difference of await differencesFromRebuild(cluster)) violations.push(difference);
  return {
    sessions: accepted.length,
    payments: load.orders.filter(({ paidTx }) => paidTx !== null).length,
    refunds: load.orders.filter(({ refundId }) => refundId !== null).length,
    webhooks: new Set(inbox().map(({ body }) => body.id)).size,
    duplicateDeliveries,
    violations,
  };
}

/** Everything owed has come, or the time is up: then what is missing is a violation. */
async function quiet(load: Load, inbox: Inbox, violations: string[]): Promise<void> {
  const missing = async (): Promise<string | null> => {
    for (const order of load.orders) {
      if (order.paidTx && !told(inbox, order, 'payment.completed'))
        return `${order.orderId} was paid and the merchant was not told`;
      if (!order.refundId) continue;
      const refund = await load.call('GET', `/v1/refunds/${order.refundId}`);
      if (refund?.json['status'] !== 'COMPLETED')
        return `refund of ${order.orderId} is ${JSON.stringify(refund?.json['status'] ?? refund?.status)}`;
      if (!told(inbox, order, 'refund.succeeded')) return `${order.orderId} was refunded and the merchant was not told`;
    }
    return null;
  };
  const last = await settled(missing);
  if (last !== null) violations.push(`no quiet: ${last}`);
}

/** Asks until nothing is missing any more; what is missing when the time is up. */
async function settled(missing: () => Promise<string | null>): Promise<string | null> {
  for (const untilMs = Date.now() + QUIET_MS; ;) {
    const last = await missing();
    if (last === null || Date.now() > untilMs) return last;
    await new Promise((wait) => setTimeout(wait, 500));
  }
}

const told = (inbox: Inbox, { sessionId }: Order, type: string): boolean =>
  inbox().some(({ body }) => body.type === type && body.data.object['session_id'] === sessionId);

async function checkOrder(
  cluster: Cluster,
  load: Load,
  order: Order,
  created: number,
  note: (isRight: boolean, what: string) => void,
): Promise<void> {
  note(order.named.size === 1, `${order.orderId} was answered with ${order.named.size} sessions`);
  note(order.refundsNamed.size <= 1, `${order.orderId} was answered with ${order.refundsNamed.size} refunds`);
  note(created === 1, `${order.orderId} is in the event log ${created} times`);
  for (const name of ['api-1', 'api-2'] as const) {
    const read = await load.call(
      'GET',
      `/api/v1/checkout/sessions/${order.sessionId!}`,
      undefined,
      undefined,
      cluster.node(name).baseUrl,
    );
    note(read?.json['id'] === order.sessionId, `${name} does not know ${order.orderId}: ${read?.status}`);
    if (!order.paidTx) continue;
    note(
      read?.json['payment_status'] === 'paid',
      `${order.orderId} was paid and is ${String(read?.json['payment_status'])} on ${name}`,
    );
    const note0 = (read?.json['metadata'] as Record<string, unknown> | undefined)?.['note'];
    note(note0 === `of ${order.orderId}`, `${order.orderId} lost its metadata`);
  }
}

/** By amount: each order has its own. */
async function checkRefundsOnChain(
  cluster: Cluster,
  orders: readonly Order[],
  note: (isRight: boolean, what: string) => void,
): Promise<void> {
  for (const { settings, rpcUrl } of cluster.chains.chains) {
    const { network } = settings;
    const { address: token, decimals } = settings.tokens.find(({ coin }) => coin === 'USDT')!;
    const outflows = await outflowsSeen({ network, rpcUrl, token, from: cluster.treasury[addressFamilyOf(network)] });
    for (const order of orders.filter((it) => it.network === network)) {
      const units = BigInt(order.amount.replace('.', '')) * 10n ** BigInt(decimals - 2);
      const own = outflows.filter(({ tokenUnits }) => tokenUnits === units);
      const wanted = order.refundId ? 1 : 0;
      note(own.length === wanted, `${order.orderId}: ${own.length} refunds on ${network}, ${wanted} asked for`);
      for (const { to } of own)
        note(isSameAccount(network, to, order.payer!), `${order.orderId} was paid back to ${to} on ${network}`);
    }
    const asked = everyOrder.filter((order) => order.network === network && order.refundId !== null);
    note(
      outflows.length === asked.length,
      `${outflows.length} transfers left the treasury on ${network}, ${asked.length} were asked for`,
    );
  }
}

/** What was collected can be swept, and then the books say on every network what the chain says. */
async function checkBooks(cluster: Cluster, violations: string[]): Promise<void> {
  const ask = async <Answer>(command: string): Promise<Answer> =>
    (await cluster.admin(command, {}, 'signer')) as Answer;
  const open = async (): Promise<string | null> => {
    const { sweeps } = await ask<{ sweeps: readonly { network: string; amount: string }[] }>('treasury.sweep');
    if (sweeps.length > 0)
      return `${sweeps.length} addresses were not swept, one held ${sweeps[0]!.amount} on ${sweeps[0]!.network}`;
    const { moves } = await ask<{ moves: readonly { id: string; status: string }[] }>('treasury.moves');
    if (moves.length > 0) return `${moves.length} moves are not done, ${moves[0]!.id} is ${moves[0]!.status}`;
    const { treasuries } = await ask<{ treasuries: readonly Reconciled[] }>('treasury.reconcile');
    return treasuries.map(disagreementOf).find((found) => found !== null) ?? null;
  };
  const last = await settled(() =>
    open().catch((error: unknown) => `the signer answered: ${(error as Error).message}`),
  );
  if (last !== null) violations.push(`books: ${last}`);
}

/** At least once, always under one id. Answers how many came more than once. */
function checkWebhooks(orders: readonly Order[], inbox: Inbox, note: (isRight: boolean, what: string) => void): number {
  const ids = new Map<string, Set<string>>();
  const times = new Map<string, number>();
  for (const { body } of inbox()) {
    const what = `${body.type} ${String(body.data.object['session_id'])}`;
    ids.set(what, (ids.get(what) ?? new Set()).add(body.id));
    times.set(body.id, (times.get(body.id) ?? 0) + 1);
  }
  for (const [what, named] of ids) note(named.size === 1, `${what} was told under ${named.size} ids`);
  for (const order of orders) {
    if (order.paidTx) note(ids.has(`payment.completed ${order.sessionId}`), `${order.orderId}: payment not told`);
    if (order.refundId) note(ids.has(`refund.succeeded ${order.sessionId}`), `${order.orderId}: refund not told`);
  }
  return [...times.values()].reduce((sum, count) => sum + count - 1, 0);
}

async function eventsOf(cluster: Cluster): Promise<RecordedEvent[]> {
  const store = await openEsdbEventStore({ connectionString: cluster.storeUrl, namespace: cluster.namespace });
  try {
    return await store.readAll({
      after: null,
      limit: Infinity,
      streamPrefixes: ['session-', 'delivery-', 'treasury-'],
    });
  } finally {
    await store.close();
  }
}

function countBy(
  events: readonly RecordedEvent[],
  type: DomainEvent['type'],
  keyOf: (data: Record<string, unknown>) => string,
): Map<string, number> {
  const counts = new Map<string, number>();
  for (const event of events.filter((it) => it.type === type)) {
    const key = keyOf(decodeEvent(event).event.data as unknown as Record<string, unknown>);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

/** Every node that lives replays the event log beside its own look-ups and compares them row by row. */
async function differencesFromRebuild(cluster: Cluster): Promise<string[]> {
  const ofNode = async (node: ClusterNode): Promise<string[]> => {
    const { name } = node;
    await node.ready();
    const { projections } = (await cluster.admin('projection.compare', {}, name)) as Compared;
    return projections
      .filter(({ differing }) => differing > 0)
      .map(({ projection, examples }) => `${name}: ${projection}: ${examples.join('; ')}`);
  };
  return (await Promise.all([...cluster.nodes.values()].filter(({ isAlive }) => isAlive).map(ofNode))).flat();
}

interface Compared {
  readonly projections: readonly {
    readonly projection: string;
    readonly differing: number;
    readonly examples: readonly string[];
  }[];
}
