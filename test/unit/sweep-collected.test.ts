import { describe, expect, it } from 'vitest';
import type { MoveDesk } from '../../src/processes/move-money-desk.ts';
import type { MoveMoney } from '../../src/processes/move-money.process.ts';
import { SweepCollected } from '../../src/processes/sweep-collected.process.ts';
import type { SessionHandler } from '../../src/use-cases/session-handler.ts';
import { COLLECTED_TABLE, collectedKey } from '../../projections/collected.projection.ts';
import { MemoryReadModel } from '../support/memory-read-model.ts';

const ADDRESS = '0xC011ec7';
const USDT = 10n ** 18n;
const COMMAND = { requestedBy: 'operator', dryRun: false };

/** An address that the look-ups say holds 50 USDT, and a chain that says how much it really holds. */
async function given({ held }: { readonly held: bigint }): Promise<{ sweeper: SweepCollected; told: unknown[] }> {
  const readModel = new MemoryReadModel();
  const row = { sessionId: 'cs_a', network: 'ethereum', address: ADDRESS, coins: { USDT: '50.00' } };
  await readModel.apply('collected', [{ op: 'put', table: COLLECTED_TABLE, key: collectedKey('ethereum', ADDRESS), row }], '1');
  const told: unknown[] = [];
  const desk = {
    treasury: '0xTreasury',
    chain: { balances: () => Promise.resolve({ coins: { USDT: held }, native: 0n }) },
    tell: (command: unknown) => (told.push(command), Promise.resolve(null)),
  } as unknown as MoveDesk;
  const moves = { desk: () => desk, wake: () => undefined } as unknown as MoveMoney;
  const created = { mode: 'test', paymentOptions: [{ address: ADDRESS, derivationIndex: 4 }] };
  const sessions = { read: () => Promise.resolve({ context: { created } }) } as unknown as SessionHandler;
  const random = { uuid: () => 'u', bytes: (count: number) => new Uint8Array(count) } as never;
  const log = { error: () => undefined } as never;
  const clock = { nowMs: () => 1_000 } as never;
  return { sweeper: new SweepCollected({ moves, readModel, sessions, clock, random, log, fromUnits: null, everyMs: 1 }), told };
}

describe('a sweep', () => {
  it('is ordered for what the address holds', async () => {
    const { sweeper, told } = await given({ held: 50n * USDT });
    expect(await sweeper.sweep({ minUnits: 1n }, COMMAND)).toMatchObject([{ note: 'ordered', toAddress: '0xTreasury' }]);
    expect(told).toMatchObject([{ type: 'RequestMove', kind: 'sweep', data: { amount: '50.00', fromAddress: ADDRESS, derivationIndex: 4 } }]);
  });

  it('is not ordered again while the look-ups do not know of the sweep that has emptied the address', async () => {
    const { sweeper, told } = await given({ held: 0n });
    expect(await sweeper.sweep({ minUnits: 1n }, COMMAND)).toMatchObject([{ moveId: null, note: 'the address holds 0.00 USDT by now' }]);
    expect(told).toEqual([]);
  });
});
