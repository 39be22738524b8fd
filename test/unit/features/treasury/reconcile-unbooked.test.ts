import { describe, expect, it } from 'vitest';
import type { Network } from '../../../../src/domain/networks/networks.ts';
import type { AccountBalances, ShownBalances } from '../../../../src/ports/outgoing/chain.ts';
import type { Row, ReadModel } from '../../../../src/ports/read-model/read-model.ts';
import { lookForUnbooked, type UnbookedLook } from '../../../../src/features/treasury/reconcile-unbooked.ts';
import type { NativeDeps } from '../../../../src/features/treasury/reconcile-native.ts';
import type { TreasuryCommand } from '../../../../state-machines/treasury/treasury.decider.ts';
import { initialTreasuryContext, type TreasuryContext } from '../../../../state-machines/treasury/treasury.state.ts';
import { DEPOSIT_WALLETS } from '../../../../src/domain/money/ledger.ts';
import { ADDRESSES_TABLE, addressKey } from '../../../../projections/addresses/address-index.projection.ts';
import { OPEN_DEPOSITS_TABLE, openKey } from '../../../../projections/deposits/deposits-by-block.projection.ts';
import { LEDGER_ADDRESSES_TABLE, addressKey as bookKey, balanceKey } from '../../../../projections/ledger/rows.ts';

const UNIT = 10n ** 18n;

/** Addresses, books and chain of one network. */
class World {
  readonly tables = new Map<string, Map<string, Row>>();
  readonly held = new Map<string, bigint>();
  proof: () => boolean = () => true;
  readonly native = new Map<string, bigint>();
  readonly told: (TreasuryCommand | 'the signer')[] = [];
  readonly asked: number[] = [];
  onPause: () => void = () => undefined;
  readonly #network: Network;

  constructor(network: Network = 'bsc') {
    this.#network = network;
  }

  /** As the provider shows it that has the newest booked block. */
  readonly nativeNow = new Map<string, bigint>();
  readonly heldNow = new Map<string, bigint>();
  newestBooked = 0;

  put(table: string, key: string, row: Row): void {
    if (!this.tables.has(table)) this.tables.set(table, new Map());
    this.tables.get(table)!.set(key, row);
  }

  give(address: string, sessionId: string, mode: 'test' | 'live' = 'test'): void {
    this.put(ADDRESSES_TABLE, addressKey(mode, this.#network === 'solana' ? 'solana' : 'evm', address), {
      sessionId,
      derivationIndex: 1,
    });
  }

  book(address: string, balance: string): void {
    this.put(LEDGER_ADDRESSES_TABLE, bookKey(balanceKey('test', DEPOSIT_WALLETS, this.#network, 'USDT'), address), {
      address,
      balance,
    });
  }

  bookNative(address: string, balance: string): void {
    this.put(LEDGER_ADDRESSES_TABLE, bookKey(balanceKey('test', DEPOSIT_WALLETS, this.#network, 'BNB'), address), {
      address,
      balance,
    });
  }

  seen(address: string, amount: string): void {
    const facts = { toAddress: address, coin: 'USDT', amount };
    this.put(OPEN_DEPOSITS_TABLE, openKey(this.#network, `${this.#network}:tx-${address}:1`), {
      sessionId: 'cs',
      status: 'detected',
      facts,
    });
  }

  look(after: string | null = null, most?: number): Promise<UnbookedLook> {
    const readModel = {
      scan: (async (table: string, { afterKey = '', limit }: { afterKey?: string; limit: number }) =>
        [...(this.tables.get(table) ?? [])]
          .filter(([key]) => key > afterKey)
          .sort(([one], [other]) => (one < other ? -1 : 1))
          .slice(0, limit)
          .map(([key, row]) => ({ key, row }))) as ReadModel['scan'],
    };
    const heldAt = (address: string): AccountBalances => ({
      coins: { USDT: this.held.get(address) ?? 0n },
      native: this.native.get(address) ?? 0n,
    });
    const finalBalances = async (addresses: readonly string[]): Promise<AccountBalances[]> => {
      this.asked.push(addresses.length);
      return addresses.map(heldAt);
    };
    const balances = async (address: string, atLeast = 0): Promise<ShownBalances> => ({
      coins: { USDT: this.heldNow.get(address) ?? this.held.get(address) ?? 0n },
      provider: 'one',
      native: (atLeast > 0 ? this.nativeNow : this.native).get(address) ?? 0n,
    });
    const settings = { tokens: [{ coin: 'USDT', address: '0xtoken', decimals: 18 }] } as never;
    const chain = {
      network: this.#network,
      mode: 'test' as const,
      settings,
      finalBalances,
      balances,
      finalBlock: async () => 9,
      newestBlock: async () => 10,
    };
    const wholeBooks = ((task: () => unknown) => task()) as never;
    const getMany = (async (table: string, keys: readonly string[]) =>
      keys.map((key) => this.tables.get(table)?.get(key) ?? null)) as ReadModel['getMany'];
    const tell = async (command: TreasuryCommand): Promise<null> => (this.told.push(command), null);
    const context = async (): Promise<TreasuryContext> => initialTreasuryContext;
    const native: NativeDeps = {
      ...{ executor: { chain, context, tell }, readModel: { getMany }, wholeBooks, clock: { nowMs: () => 5_000 } },
      proveBooks: async () => this.proof(),
      newestBooked: async () => this.newestBooked,
      derivedForm: (address) => address.toUpperCase().replace('X', 'x'),
      reportOutflows: async () => void this.told.push('the signer'),
    };
    return lookForUnbooked({ chain, readModel, wholeBooks, native, pause: async () => this.onPause() }, after, most);
  }
}

describe('money that the books do not have', () => {
  it('is not found where only an old final state still shows what was swept since', async () => {
    const world = new World();
    world.give('0xabc1', 'cs_swept');
    world.held.set('0xabc1', 7n * UNIT);
    world.heldNow.set('0xabc1', 0n);
    expect((await world.look()).found).toEqual([]);
  });

  it('is found at an address of a session without any booked money, and named', async () => {
    const world = new World();
    world.give('0xabc1', 'cs_cancelled');
    world.give('0xabc2', 'cs_empty');
    world.held.set('0xabc1', 7n * UNIT);
    expect(await world.look()).toEqual({
      addressesRead: 2,
      next: null,
      native: [],
      found: [
        {
          sessionId: 'cs_cancelled',
          network: 'bsc',
          address: '0xabc1',
          coin: 'USDT',
          booked: '0.00',
          onChain: '7.00',
          todo: expect.stringContaining('quittance chain rescan --network bsc') as string,
        },
      ],
    });
  });

  it('is what exceeds the books and the money waiting for finality, however addresses are written', async () => {
    const world = new World();
    for (const name of ['0xabc1', '0xabc2', '0xabc3']) world.give(name, `cs_${name}`);
    world.held
      .set('0xabc1', 7n * UNIT)
      .set('0xabc2', 7n * UNIT)
      .set('0xabc3', 7n * UNIT);
    world.book('0xABC1', '7.00');
    world.book('0xABC2', '3.00');
    world.seen('0xABC2', '4.00');
    world.book('0xABC3', '5.00');
    const { found } = await world.look();
    expect(found.map(({ address, booked, onChain }) => [address, booked, onChain])).toEqual([
      ['0xabc3', '5.00', '7.00'],
    ]);
  });

  it('does not include what is recorded by the second check', async () => {
    const world = new World();
    world.give('0xabc1', 'cs_1');
    world.held.set('0xabc1', 2n * UNIT);
    world.onPause = () => world.book('0xabc1', '2.00');
    expect((await world.look()).found).toEqual([]);
  });

  it('does not include what came during the pause, at an address that is paid all the time', async () => {
    const world = new World();
    world.give('0xabc1', 'cs_busy');
    world.held.set('0xabc1', 2n * UNIT);
    world.onPause = () => {
      world.book('0xabc1', '2.00');
      world.held.set('0xabc1', 3n * UNIT);
    };
    expect((await world.look()).found).toEqual([]);
  });

  it('is searched in parts, each of which says where to continue', async () => {
    const world = new World();
    const names = Array.from({ length: 25 }, (_, index) => `0x${String(index).padStart(4, '0')}`);
    for (const name of names) world.give(name, `cs_${name}`);
    world.give('0x9999', 'cs_live', 'live');
    for (const name of names) world.held.set(name, UNIT);
    world.held.set('0x9999', UNIT);
    const found: string[] = [];
    const parts: number[] = [];
    let after: string | null = null;
    do {
      const part: UnbookedLook = await world.look(after, 10);
      found.push(...part.found.map(({ address }) => address));
      parts.push(part.addressesRead);
      after = part.next;
    } while (after !== null);
    expect([found, parts]).toEqual([names, [10, 10, 5]]);
  });

  it('is not recorded while the books differ from the event log', async () => {
    const world = new World();
    world.give('0xabc1', 'cs_one');
    world.native.set('0xabc1', UNIT);
    world.proof = () => {
      throw new Error('3 rows are not what the ledger says');
    };
    await expect(world.look()).rejects.toThrow('3 rows are not what the ledger says');
    expect(world.told).toEqual([]);
  });

  it('waits while the books cannot be verified, but missing money is reported all the same', async () => {
    const world = new World();
    for (const name of ['0xabc1', '0xabc3']) world.give(name, `cs_${name}`);
    world.native.set('0xabc1', UNIT);
    world.bookNative('0xABC3', '0.5');
    world.proof = () => false;
    expect((await world.look()).native).toMatchObject([{ kind: 'missing', address: '0xABC3' }]);
    expect(world.told).toMatchObject([{ found: [], missing: [{ address: '0xABC3' }] }, 'the signer']);
  });

  it('is not missed where only a provider that lags does not show it yet', async () => {
    const world = new World();
    world.give('0xabc3', 'cs_3');
    world.bookNative('0xABC3', '0.5');
    world.nativeNow.set('0xabc3', UNIT / 2n);
    world.newestBooked = 9;
    expect((await world.look()).native).toEqual([]);
    expect(world.told).toEqual([]);
  });

  it('is recorded if it is native coin, and missing native coin is reported to the signer too', async () => {
    const world = new World();
    for (const name of ['0xabc1', '0xabc2', '0xabc3', '0xabc4']) world.give(name, `cs_${name}`);
    world.native
      .set('0xabc1', UNIT / 100n)
      .set('0xabc2', UNIT / 4n)
      .set('0xabc4', UNIT);
    world.bookNative('0xABC2', '0.25');
    world.bookNative('0xABC3', '0.5');
    world.onPause = () => world.bookNative('0xABC4', '1.00');
    const { native, found } = await world.look();
    expect(found).toEqual([]);
    expect(native).toEqual([
      {
        kind: 'found',
        sessionId: 'cs_0xabc1',
        network: 'bsc',
        address: '0xABC1',
        coin: 'BNB',
        booked: '0.00',
        onChain: '0.01',
      },
      {
        kind: 'missing',
        sessionId: 'cs_0xabc3',
        network: 'bsc',
        address: '0xABC3',
        coin: 'BNB',
        booked: '0.50',
        onChain: '0.00',
      },
    ]);
    const place = { mode: 'test', network: 'bsc', coin: 'BNB', foundAtSec: 5, blockNumber: 9 };
    expect(world.told).toEqual([
      {
        type: 'RecordCollectionLook',
        finds: 0,
        found: [{ ...place, address: '0xABC1', amount: '0.01', sessionId: 'cs_0xabc1' }],
        missing: [
          { ...place, address: '0xABC3', amount: '0.50', toAddress: null, txHash: null, outflowKey: '0xABC3:BNB:9' },
        ],
      },
      'the signer',
    ]);
  });

  it('names the address to rescan on Solana', async () => {
    const world = new World('solana');
    world.give('oeYf', 'cs_1');
    world.held.set('oeYf', UNIT);
    expect((await world.look()).found[0]!.todo).toBe('quittance chain rescan --network solana --address oeYf');
  });
});
