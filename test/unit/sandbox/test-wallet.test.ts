import { describe, expect, it } from 'vitest';
import { nodeRandom } from '../../../src/adapters/node/random.ts';
import { TestWallet } from '../../../src/sandbox/test-wallet.ts';
import type { SessionView } from '../../../src/features/shared/views.ts';
import { Idempotency } from '../../../src/features/shared/idempotency.ts';
import type { SandboxPayRequest } from '../../../src/http/routes/sandbox.routes.ts';
import type { SandboxPayment } from '../../../src/sandbox/chain.ts';
import { MemoryEventStore } from '../../support/memory-event-store.ts';
import { caller } from '../../support/session-world.ts';
import { SESSION_ID } from '../../support/session-facts.ts';

const NOW_MS = 1_800_000_000_000;

/** A session of 10 USDT on Ethereum and Solana, and a wallet whose chains only take notes. */
function wallet(change: Partial<SessionView> = {}) {
  const nowSec = NOW_MS / 1000;
  const options = ['ethereum', 'solana'].map((network) => ({ network, address: `address on ${network}` }));
  let session = {
    sessionId: SESSION_ID,
    mode: 'test',
    status: 'open',
    dueCoin: 'USDT',
    dueAmount: '10.00',
    received: '0.00',
    pending: '0.00',
    ...{ expiresAtSec: nowSec + 60, paymentOptions: options, alternative: null, ...change },
  } as unknown as SessionView;
  let nowMs = NOW_MS;
  const clock = { nowMs: () => (nowMs += 500) };
  const paid: SandboxPayment[] = [];
  const wallet = new TestWallet(
    {
      idempotency: new Idempotency({ store: new MemoryEventStore(), clock, random: nodeRandom }),
      sessions: {
        getSession: async () => session,
        viewSession: async () => session,
        moveDeadline: async (_id, expiresAtSec) => {
          session = { ...session, expiresAtSec: Math.max(expiresAtSec, Math.floor(nowMs / 1000)) };
          return { ok: true, value: session.expiresAtSec };
        },
      },
    },
    {
      canFault: (network) => network !== 'solana',
      pay: async (_network, payment) => {
        paid.push(payment);
        return { txHash: `0x${paid.length}`, fromAddress: '0xPayer' };
      },
    },
    clock,
  );
  const pay = (request: Partial<SandboxPayRequest>, idempotencyKey?: string) =>
    wallet.api.pay(
      { ...caller, ...(idempotencyKey !== undefined && { idempotencyKey }) },
      { sessionId: SESSION_ID, network: 'ethereum', case: 'exact', ...request },
    );
  return { wallet, pay, paid, deadline: () => session.expiresAtSec, nowSec: () => Math.floor(nowMs / 1000) };
}

describe('the test wallet', () => {
  it('pays once for one Idempotency-Key, and again for another', async () => {
    const { pay, paid } = wallet();
    const first = await pay({}, 'a');
    expect(await pay({}, 'a')).toEqual({ ...first, repeated: true });
    expect(await pay({ case: 'over' }, 'a')).toMatchObject({ ok: false, refusal: { code: 'idempotency_conflict' } });
    expect(paid).toHaveLength(1);
    await pay({}, 'b');
    expect(paid).toHaveLength(2);
  });

  it.each(['exact', 'two_payers', 'reorg', 'lost', 'late'] as const)(
    'says that nothing is missing for %s',
    async (kind) => {
      for (const paidFor of [
        { received: '10.00' },
        { received: '12.00' },
        { pending: '10.00' },
        { status: 'paid', received: '0.00' } as const,
      ]) {
        const { pay, paid } = wallet(paidFor);
        expect(await pay({ case: kind })).toMatchObject({
          ok: false,
          refusal: { code: 'invalid_request', param: 'amount' },
        });
        expect(paid).toEqual([]);
        if (kind !== 'late') expect((await pay({ case: kind, amount: '1.00' })).ok).toBe(true);
      }
    },
  );

  it.each([
    ['contract_payer', 'contract'],
    ['exchange_payer', 'exchange'],
    ['frozen_payer', 'frozen'],
  ] as const)('%s pays what is missing from %s, on every network', async (kind, payer) => {
    for (const network of ['ethereum', 'solana'] as const) {
      const { pay, paid } = wallet({ received: '4.00' });
      expect((await pay({ case: kind, network })).ok).toBe(true);
      expect(paid).toMatchObject([{ payer, amount: '6.00' }]);
    }
  });

  it.each(['reorg', 'lost'] as const)('refuses %s where the chain cannot do it, naming the case', async (kind) => {
    const { pay, paid } = wallet();
    expect(await pay({ case: kind, network: 'solana' })).toMatchObject({
      ok: false,
      refusal: { code: 'invalid_request', param: 'case' },
    });
    expect(paid).toEqual([]);
    expect((await pay({ case: kind })).ok).toBe(true);
  });

  it('pays what is due in the requested coin if the payer may choose', async () => {
    const alternative = {
      dueCoin: 'USDC',
      dueAmount: '10.02',
      rateLock: {},
      paymentOptions: [{ network: 'ethereum', address: 'address on ethereum' }],
    };
    const choice = { alternative, rateLock: {} } as unknown as Partial<SessionView>;
    const { pay, paid } = wallet(choice);
    expect(await pay({ case: 'wrong_coin' })).toMatchObject({
      ok: false,
      refusal: { code: 'invalid_request', param: 'case' },
    });
    expect(await pay({ coin: 'USDC', network: 'solana' })).toMatchObject({
      ok: false,
      refusal: { code: 'invalid_request', param: 'network' },
    });
    await pay({ coin: 'USDC' });
    await pay({});
    expect(paid.map(({ coin, amount }) => [coin, amount])).toEqual([
      ['USDC', '10.02'],
      ['USDT', '10.00'],
    ]);
  });

  it('pays late at once: the deadline moves to now, and the payment follows', async () => {
    const { pay, paid, deadline, nowSec } = wallet();
    expect((await pay({ case: 'late' })).ok).toBe(true);
    expect(paid).toHaveLength(1);
    expect(deadline()).toBeLessThan(nowSec());
  });

  it('refuses a late payment to a session that has ended', async () => {
    const { pay } = wallet({ status: 'paid' });
    expect(await pay({ case: 'late', amount: '1.00' })).toMatchObject({
      ok: false,
      refusal: { code: 'invalid_request', param: 'case' },
    });
  });

  it('brings the deadline nearer by seconds, or to now', async () => {
    const { wallet: own, deadline, nowSec } = wallet();
    const before = deadline();
    expect(await own.api.advance(caller, SESSION_ID, 20)).toEqual({ ok: true, value: before - 20 });
    await own.api.advance(caller, SESSION_ID, null);
    expect(deadline()).toBe(nowSec());
  });
});
