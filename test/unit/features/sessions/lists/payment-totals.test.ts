import { beforeEach, describe, expect, it } from 'vitest';
import { sessionView } from '../../../../../projections/sessions/session-view.projection.ts';
import type { SessionCreated } from '../../../../../src/domain/events/session-events.ts';
import type { SessionId } from '../../../../../src/domain/values/ids.ts';
import { paymentTotalsCommands } from '../../../../../src/operator/merchants/payment-totals.ts';
import { Lists } from '../../../../../src/features/sessions/lists/lists.ts';
import { paymentTotals } from '../../../../../src/features/sessions/lists/payment-totals.ts';
import { ProjectionRunner } from '../../../../../src/runtime/projections/runner.ts';
import { MemoryEventStore } from '../../../../support/memory-event-store.ts';
import { MemoryReadModel } from '../../../../support/memory-read-model.ts';
import { appendHistory } from '../../../../support/random-history.ts';
import { createdFacts, MERCHANT_ID } from '../../../../support/session-facts.ts';

/** 2027-01-16, the first second. */
const MIDNIGHT = 1_800_057_600;
const idOf = (index: number): SessionId => `cs_${String(index).padStart(32, 'a')}` as SessionId;

describe('totals of payments', () => {
  let model: MemoryReadModel;
  let store: MemoryEventStore;
  let made: number;

  beforeEach(() => {
    [model, store, made] = [new MemoryReadModel(), new MemoryEventStore(), 0];
  });

  async function create(...sessions: Partial<SessionCreated['data']>[]): Promise<void> {
    for (const change of sessions) {
      const sessionId = idOf((made += 1));
      const data = createdFacts({ sessionId, orderId: `order-${made}`, ...change });
      await appendHistory(store, [{ session: -1, atMs: 0, event: { type: 'SessionCreated', data } }], sessionId);
    }
    const runner = new ProjectionRunner({
      ...{ store, readModel: model, projections: [sessionView] },
      clock: { nowMs: () => 0 },
    });
    await runner.start();
    await runner.ready();
    expect(await runner.parked()).toEqual([]);
    await runner.stop();
  }

  const lists = () => new Lists({ readModel: model, cursorKey: new Uint8Array(32), metadataIndex: null });
  const asked = (args: Record<string, string | boolean>) =>
    paymentTotalsCommands({
      totals: (owner, filters) => paymentTotals({ readModel: model, lists: lists() }, owner, filters),
      modeOfMerchant: (id) => (id === MERCHANT_ID ? 'test' : null),
    })['session.totals']!({ merchant_id: MERCHANT_ID, ...args });
  const none = { received: '0.00', refunded: '0.00' };

  it('are exact for every day, and for sums that no single amount may have', async () => {
    await create(
      { createdAtSec: MIDNIGHT - 1, dueAmount: '999999999999.000000000000000001' },
      { createdAtSec: MIDNIGHT - 1, dueAmount: '999999999999.999999999999999999' },
      { createdAtSec: MIDNIGHT, dueAmount: '0.10' },
      { createdAtSec: MIDNIGHT, dueAmount: '0.20', dueCoin: 'USDC' },
    );
    expect(await asked({ byDay: true })).toEqual({
      mode: 'test',
      totals: [
        { day: '2027-01-15', coin: 'USDT', payments: 2, due: '1999999999999.00', ...none },
        { day: '2027-01-16', coin: 'USDC', payments: 1, due: '0.20', ...none },
        { day: '2027-01-16', coin: 'USDT', payments: 1, due: '0.10', ...none },
      ],
    });
    expect(await asked({ to: '2027-01-16', from: '2027-01-16', status: 'unpaid' })).toMatchObject({
      totals: [{ coin: 'USDC' }, { day: null, coin: 'USDT', payments: 1 }],
    });
    expect(await asked({ to: '2027-01-14' })).toMatchObject({ totals: [] });
    expect(await asked({ status: 'paid' })).toMatchObject({ totals: [] });
  });

  it('count a payment on the day of its place in the list, although a clock was behind', async () => {
    await create({ createdAtSec: MIDNIGHT }, { createdAtSec: MIDNIGHT - 5 });
    expect(await asked({ from: '2027-01-16' })).toMatchObject({ totals: [{ payments: 2, due: '20.00' }] });
    const listed = await lists().listSessions({
      ...{ merchantId: MERCHANT_ID, mode: 'test', filters: { createdFrom: MIDNIGHT } },
      paging: { page: 1, pageSize: 10 },
    });
    expect(listed).toMatchObject({ ok: true, value: { pagination: { total: 2 } } });
  });

  it('of an order are those of its sessions', async () => {
    await create(
      { createdAtSec: MIDNIGHT - 1 },
      { createdAtSec: MIDNIGHT, orderId: 'order-1', supersedes: idOf(1), dueAmount: '12.50' },
      {},
    );
    expect(await asked({ order: 'order-1' })).toMatchObject({ totals: [{ payments: 2, due: '22.50' }] });
    expect(await asked({ order: ' order-1 ', from: '2027-01-16' })).toMatchObject({ totals: [{ due: '12.50' }] });
    expect(await asked({ order: 'order-9' })).toMatchObject({ totals: [] });
  });

  it('are refused by name for what is no filter', async () => {
    await expect(asked({ status: 'done' })).rejects.toThrow('status must be one of open, processing, paid,');
    await expect(asked({ from: '2027-02-30' })).rejects.toThrow('from must be a day such as');
    await expect(asked({ merchant_id: 'mer_other' })).rejects.toThrow('merchant_id is not a merchant');
  });
});
