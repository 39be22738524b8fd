import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ChainUnavailable } from '../../../../src/ports/chain/chain.ts';
import type { MoveExecutor } from '../../../../src/features/payouts/moves/records.ts';
import type { MoveMoney } from '../../../../src/features/payouts/moves/moves.process.ts';
import { SweepCollected } from '../../../../src/features/treasury/sweep.process.ts';
import type { SessionHandler } from '../../../../src/features/shared/handlers/session-handler.ts';
import { COLLECTED_TABLE, collectedKey } from '../../../../projections/treasury/collected.projection.ts';
import type { Network } from '../../../../src/domain/networks/networks.ts';
import { MemoryReadModel } from '../../../support/memory-read-model.ts';

const ADDRESS = '0xC011ec7';
const USDT = 10n ** 18n;
const COMMAND = { requestedBy: 'operator', dryRun: false };

interface Given {
  /** What the chain says an address holds. */
  readonly held: (network: Network, address: string) => Promise<bigint>;
  /** Addresses that the look-ups say hold 50 USDT. */
  readonly addresses?: readonly (readonly [Network, string])[];
  /** Those with a sweep under way. */
  readonly sweeping?: readonly string[];
}

async function given({
  held,
  addresses = [['ethereum', ADDRESS]],
  sweeping = [],
}: Given): Promise<{ sweeper: SweepCollected; told: unknown[]; read: readonly string[] }> {
  const readModel = new MemoryReadModel();
  const rows = addresses.map(([network, address]) => {
    const row = { sessionId: 'cs_a', network, address, coins: { USDT: '50.00' } };
    return { op: 'put' as const, table: COLLECTED_TABLE, key: collectedKey(network, address), row };
  });
  await readModel.apply('collected', rows, '1');
  const told: unknown[] = [];
  const moves = Object.fromEntries(
    sweeping.map((fromAddress) => [fromAddress, { kind: 'sweep', terms: { fromAddress } }]),
  );
  const executorOf = (network: Network) =>
    ({
      treasury: '0xTreasury',
      context: () => Promise.resolve({ moves }),
      chain: {
        ...{ mode: 'test', network },
        balances: async (address: string) => ({ coins: { USDT: await held(network, address) }, native: 0n }),
      },
      tell: (command: unknown) => (told.push(command), Promise.resolve(null)),
    }) as unknown as MoveExecutor;
  const executors = (['bsc', 'ethereum'] as const).map(executorOf);
  const moving = { executors, wake: () => undefined } as unknown as MoveMoney;
  const paymentOptions = addresses.map(([, address]) => ({ address, derivationIndex: 4 }));
  const read: string[] = [];
  const sessions = {
    read: (stream: string) => {
      read.push(stream);
      return Promise.resolve({ context: { created: { mode: 'test', paymentOptions } } });
    },
  } as unknown as SessionHandler;
  const random = { uuid: () => 'u', bytes: (count: number) => new Uint8Array(count) } as never;
  const log = { error: () => undefined, warn: () => undefined } as never;
  const clock = { nowMs: () => 1_000 } as never;
  return {
    sweeper: new SweepCollected({ moves: moving, readModel, sessions, clock, random, log, fromUnits: 1n, everyMs: 5 }),
    told,
    read,
  };
}

describe('a sweep', () => {
  it('is ordered for what the address holds', async () => {
    const { sweeper, told } = await given({ held: () => Promise.resolve(50n * USDT) });
    expect(await sweeper.sweep({ minUnits: 1n }, COMMAND)).toMatchObject([
      { note: 'ordered', toAddress: '0xTreasury' },
    ]);
    expect(told).toMatchObject([
      { type: 'RequestMove', kind: 'sweep', data: { amount: '50.00', fromAddress: ADDRESS, derivationIndex: 4 } },
    ]);
  });

  it('is not ordered again while the look-ups lack the sweep that emptied the address', async () => {
    const { sweeper, told } = await given({ held: () => Promise.resolve(0n) });
    expect(await sweeper.sweep({ minUnits: 1n }, COMMAND)).toMatchObject([
      { moveId: null, note: 'the address now holds 0.00 USDT' },
    ]);
    expect(told).toEqual([]);
  });
});

describe('a pass over the collection addresses', () => {
  const dead = (network: Network): Promise<bigint> =>
    network === 'bsc'
      ? Promise.reject(new ChainUnavailable('bsc: no provider could answer'))
      : Promise.resolve(50n * USDT);

  it('continues with the other networks when the chain of one is unavailable', async () => {
    const { sweeper, told } = await given({
      held: dead,
      addresses: [
        ['bsc', '0xB1'],
        ['bsc', '0xB2'],
        ['ethereum', ADDRESS],
      ],
    });
    const planned = await sweeper.sweep({ minUnits: 1n }, COMMAND);
    expect(planned.map(({ network, note }) => [network, note])).toEqual([
      ['bsc', 'bsc: no provider could answer'],
      ['ethereum', 'ordered'],
    ]);
    expect(told).toMatchObject([{ data: { fromAddress: ADDRESS } }]);
  });

  it('reaches every address however many others have a waiting sweep, and however many another network has', async () => {
    const onBsc = Array.from({ length: 700 }, (_, index) => `0xB${String(index).padStart(4, '0')}`);
    const { sweeper, told } = await given({
      held: () => Promise.resolve(50n * USDT),
      addresses: [...onBsc.map((address) => ['bsc', address] as const), ['ethereum', ADDRESS]],
      sweeping: onBsc.slice(0, 600),
    });
    await sweeper.sweep({ minUnits: 1n }, COMMAND);
    expect(told).toMatchObject([...onBsc.slice(600), ADDRESS].map((fromAddress) => ({ data: { fromAddress } })));
  });

  it('ends with the last address that it may take, however many more there are', async () => {
    const { sweeper, read } = await given({
      held: () => Promise.resolve(50n * USDT),
      addresses: Array.from({ length: 100 }, (_, index) => ['bsc', `0xB${String(index).padStart(4, '0')}`] as const),
    });
    const planned = await sweeper.sweep({ minUnits: 1n, network: 'bsc' }, { ...COMMAND, most: 3 });
    expect([planned.length, read.length]).toEqual([3, 3]);
  });

  it('can list what the books know without asking a chain', async () => {
    const { sweeper, told } = await given({
      held: () => Promise.reject(new Error('a chain was asked')),
      addresses: [
        ['bsc', '0xB1'],
        ['bsc', '0xB2'],
      ],
      sweeping: ['0xB2'],
    });
    const listed = await sweeper.sweep({ minUnits: 1n }, { ...COMMAND, dryRun: true, estimate: false });
    expect(listed).toMatchObject([
      { address: '0xB1', units: 50n * USDT, moveId: null, note: '' },
      { address: '0xB2', note: '0xB2 has a move of this kind under way' },
    ]);
    expect(told).toEqual([]);
  });

  it('never runs beside another, so that nothing is ordered once it was stopped', async () => {
    let [running, most] = [0, 0];
    const { sweeper, told } = await given({
      held: async () => {
        running += 1;
        most = Math.max(most, running);
        await sleep(60);
        running -= 1;
        return 50n * USDT;
      },
    });
    sweeper.start();
    await sleep(40);
    await sweeper.stop();
    const ordered = told.length;
    await sleep(80);
    expect({ most, running, later: told.length - ordered }).toEqual({ most: 1, running: 0, later: 0 });
  });
});
