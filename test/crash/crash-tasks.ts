import { WAIT_MS, type CrashWorld, type Task } from './crash-world.ts';
import type { JourneyName } from './crash-plans.ts';
import { strayTransfer, type StrayItem } from './crash-unmatched.ts';
import { until, type RunningService } from './running-service.ts';

type NextTask = (amount: string) => Promise<Task>;

/** Prepares one way that money goes out, and gives one transfer of it after the other. */
export function tasksOf(world: CrashWorld, journey: JourneyName): Promise<NextTask> {
  switch (journey) {
    case 'refund':
      return refunds(world);
    case 'sweep':
      return Promise.resolve(sweeps(world));
    case 'withdrawal':
      return Promise.resolve(
        outward(world, () => ['treasury.withdraw', { to: world.strangers.cold }], world.strangers.cold),
      );
    case 'settlement':
      return settlements(world);
    case 'return':
      return Promise.resolve(returns(world));
  }
}

const DUE = '900.00';
let orders = 0;

/** A session that was paid through the chain itself; answers with its id, the payer and where it paid to. */
async function paidSession(world: CrashWorld, amount: string): Promise<{ id: string; payer: string; address: string }> {
  const service = await world.service();
  orders += 1;
  const session = await service.client.sessions.create({ amount, currency: 'USDT', order_id: `crash-${orders}` });
  const { address } = (session as unknown as { payment_options: { address: string }[] }).payment_options[0]!;
  const { fromAddress } = await world.chain.pay({ coin: 'USDT', to: address, amount });
  await until(
    'the session is paid',
    WAIT_MS,
    async () => (await service.client.sessions.get(session.id)).payment_status === 'paid',
  );
  return { id: session.id, payer: fromAddress, address };
}

const treasuryOf = (world: CrashWorld, service: RunningService): string =>
  service.facts.networks[world.network]!.treasury;

async function refunds(world: CrashWorld): Promise<NextTask> {
  const session = await paidSession(world, DUE);
  const treasury = treasuryOf(world, await world.service());
  return (amount) => {
    const request = { session_id: session.id, amount: { value: amount, currency: 'USDT' } };
    let id = '';
    return Promise.resolve({
      ...{ coin: 'USDT', amount, from: treasury, to: session.payer },
      order: async (service) => {
        ({ id } = await service.client.refunds.create(request, { idempotencyKey: `refund-${amount}` }));
      },
      isDone: async (service) => id !== '' && (await service.client.refunds.get(id)).status === 'COMPLETED',
      fault: async (service, txHash) => {
        const refund = await service.client.refunds.get(id);
        if (refund.tx_hash !== txHash) return `the API names ${refund.tx_hash}, the chain ${txHash}`;
        const told = await until('the webhook is in the feed', WAIT_MS, async () => {
          const events = await refundEvents(service, id);
          return events.length > 0 && events;
        });
        return told.length === 1 ? null : `${told.length} notifications`;
      },
    });
  };
}

async function refundEvents(service: RunningService, refundId: string): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined; ;) {
    const { data, pagination } = await service.client.events.after(cursor, { page_size: 100 });
    for (const event of data) if (JSON.stringify(event).includes(refundId)) ids.push(event.id);
    if (!pagination.has_more || pagination.next_cursor === null) return ids;
    cursor = pagination.next_cursor;
  }
}

interface Swept {
  readonly sweeps: readonly { readonly from_address: string }[];
}

/**
 * Collected money below this stays where it is: the amounts that are swept are larger than all that were swept before.
 */
const sweepAmount = (piece: string): string => `${1_000 + Number(piece.split('.')[1])}.00`;

function sweeps(world: CrashWorld): NextTask {
  return async (piece) => {
    const amount = sweepAmount(piece);
    const { address } = await paidSession(world, amount);
    const filter = { network: world.network, min: amount };
    const planned = (): Promise<Swept> => world.admin<Swept>('treasury.sweep', { ...filter, dryRun: true });
    await until('the money is collected', WAIT_MS, async () => (await planned()).sweeps.length === 1);
    return {
      ...{ coin: 'USDT', amount, from: address, to: treasuryOf(world, await world.service()) },
      order: () => world.admin('treasury.sweep', filter),
      isDone: () => isIdle(world),
      fault: async () => {
        const left = await planned();
        return left.sweeps.length === 0 ? null : `the books still hold it at ${left.sweeps[0]!.from_address}`;
      },
    };
  };
}

const isIdle = async (world: CrashWorld): Promise<boolean> =>
  (await world.admin<{ moves: unknown[] }>('treasury.moves', { network: world.network })).moves.length === 0;

/** A transfer that one operator proposes before anything is killed, and two others approve. */
function outward(
  world: CrashWorld,
  terms: () => [command: string, args: Readonly<Record<string, string>>],
  to: string,
): NextTask {
  return async (amount) => {
    const service = await world.service();
    const [command, args] = terms();
    const money = { network: world.network, coin: 'USDT', amount };
    const { id } = await world.admin<{ id: string }>(command, { ...args, ...money, operator: 'ada' });
    return {
      ...{ coin: 'USDT', amount, from: treasuryOf(world, service), to },
      // Once it is approved, or done, there is nothing to approve any more.
      order: () => world.twoApprove('treasury.approve', { id }).catch(() => undefined),
      isDone: () => isIdle(world),
      fault: () => Promise.resolve(null),
    };
  };
}

async function settlements(world: CrashWorld): Promise<NextTask> {
  await paidSession(world, DUE);
  const [merchant] = await world.admin<{ id: string }[]>('merchant.list');
  const own = { merchant_id: merchant!.id, network: world.network, address: world.strangers.merchant };
  await world.twoApprove('merchant.settlement-address', { ...own, operator: 'ada' });
  return outward(world, () => ['treasury.settle', { merchant_id: merchant!.id }], world.strangers.merchant);
}

/** Too little money in a session that was cancelled, which the inbox pays back. */
function returns(world: CrashWorld): NextTask {
  return async (amount) => {
    const service = await world.service();
    const { id: transfer, from_address: payer, session_id: sessionId } = await strayTransfer(world, amount);
    const shown = () => world.admin<StrayItem>('inbox.show', { transfer });
    return {
      ...{ coin: 'USDT', amount, from: treasuryOf(world, service), to: payer },
      // Once it is decided, there is nothing to decide any more.
      order: () => world.admin('inbox.return', { transfer, actor: 'ada', reason: 'a test' }).catch(() => undefined),
      isDone: async () => (await shown()).state === 'returned',
      fault: async ({ client }, txHash) => {
        const named = (await shown()).decision?.tx_hash;
        if (named !== txHash) return `the inbox names ${named}, the chain ${txHash}`;
        const { refundable } = await client.sessions.get(sessionId);
        return refundable === '0.00' ? null : `the session may still refund ${refundable}`;
      },
    };
  };
}
