import { createHmac } from 'node:crypto';
import type { Received } from '../edges/receiver.ts';
import type { World } from '../world.ts';
import type { SeenSession } from './sessions.ts';
import type { Fact } from './truth.ts';

/** Of the specification's table: what a merchant is told, and by which words. */
const TOLD: Readonly<Record<string, string>> = {
  SessionPaid: 'payment.completed',
  SessionFailed: 'payment.failed',
  SessionExpired: 'payment.expired',
  SessionCancelled: 'payment.cancelled',
  RefundCompleted: 'refund.succeeded',
  RefundFailed: 'refund.failed',
};

const isTold = ({ type, stream }: Fact): boolean => stream.startsWith('session-') && TOLD[type] !== undefined;

/**
 * Each event is told under one id, with the same words each time, signed, in the order of its session, until it is
 * taken or given up visibly.
 */
export function judgeNotifications(
  world: World,
  facts: readonly Fact[],
  sessions: ReadonlyMap<string, SeenSession>,
  lost: readonly Fact[],
): string[] {
  const faults: string[] = [];
  const told = facts.filter(isTold);
  const idOf = (fact: Fact): string => String(fact.metadata['notificationId']);
  const ids = [...lost.filter(isTold), ...told].map(idOf);
  // Notices of a merchant's own settings are theirs, too.
  const known = new Set([...lost, ...facts].map(idOf));
  for (const id of new Set(ids.filter((one, at) => ids.indexOf(one) !== at)))
    faults.push(`two events have the id ${id}`);
  const sent = Map.groupBy(world.receivers.received, (one) => one.headers.get('x-service-event-id') ?? '');
  for (const id of sent.keys()) if (!known.has(id)) faults.push(`something was sent under ${id}, which no event has`);
  const suspended = new Set(
    facts
      .filter(({ type }) => type === 'WebhookEndpointSuspended')
      .map(({ stream }) => stream.slice('merchant-'.length)),
  );
  for (const fact of told) {
    const merchantId = String(sessions.get(fact.stream)!.created['merchantId']);
    const merchant = world.merchants.find(({ account }) => account?.id === merchantId)!;
    const attempts = sent.get(idOf(fact)) ?? [];
    faults.push(
      ...judgeOne(fact, idOf(fact), attempts, { url: merchant.url, secret: merchant.account!.webhookSecret }),
    );
    const delivery = facts.filter(({ stream }) => stream === `delivery-${idOf(fact)}`);
    const end = delivery.findLast(({ type }) =>
      ['DeliverySucceeded', 'DeliveryExhausted', 'DeliveryRejected', 'DeliveryBlocked'].includes(type),
    )?.type;
    if (end === undefined && !suspended.has(merchantId))
      faults.push(`${idOf(fact)} (${fact.type} of ${fact.stream}) was neither delivered nor given up`);
    if (end === 'DeliverySucceeded' && !attempts.some(({ accepted }) => accepted))
      faults.push(`${idOf(fact)} counts as delivered, and nobody has it`);
  }
  faults.push(...judgeOrder(told, idOf, sent, suspended, sessions));
  return faults;
}

function judgeOne(
  { type }: Fact,
  id: string,
  attempts: readonly Received[],
  { url, secret }: { readonly url: string; readonly secret: string },
): string[] {
  const faults: string[] = [];
  if (new Set(attempts.map(({ body }) => body)).size > 1) faults.push(`${id} was sent with different words`);
  for (const { headers, body, url: to } of attempts) {
    const said = JSON.parse(body) as { readonly id: string; readonly type: string };
    if (to !== url) faults.push(`${id} went to ${to}`);
    if (said.id !== id || said.type !== TOLD[type] || headers.get('x-service-event-type') !== said.type)
      faults.push(`${id} says ${said.type} of ${said.id}`);
    const signed = `${headers.get('x-service-timestamp')}.${headers.get('x-service-nonce')}.${body}`;
    if (createHmac('sha256', secret).update(signed).digest('hex') !== headers.get('x-service-signature'))
      faults.push(`${id} was not signed by its secret`);
  }
  const nonces = attempts.map(({ headers }) => headers.get('x-service-nonce'));
  if (new Set(nonces).size !== nonces.length) faults.push(`${id} was sent twice with one nonce`);
  return faults;
}

/** First attempts of a session in the order of its events. */
function judgeOrder(
  told: readonly Fact[],
  idOf: (fact: Fact) => string,
  sent: ReadonlyMap<string, readonly Received[]>,
  suspended: ReadonlySet<string>,
  sessions: ReadonlyMap<string, SeenSession>,
): string[] {
  return [...Map.groupBy(told, ({ stream }) => stream)].flatMap(([stream, events]) => {
    if (suspended.has(String(sessions.get(stream)!.created['merchantId']))) return [];
    const firsts = events.flatMap((fact) => sent.get(idOf(fact))?.[0] ?? []);
    return firsts.flatMap((one, at) => {
      const before = firsts[at - 1];
      if (before === undefined) return [];
      if (one.atMs < before.atMs) return [`${stream}: its events were told out of order`];
      return one.sender === before.sender && one.atMs < before.answeredMs
        ? [`${stream}: an event was told before the one before it was answered`]
        : [];
    });
  });
}
