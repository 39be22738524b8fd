import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, it } from 'vitest';
import { addressKey, addressIndex, ADDRESSES_TABLE } from '../../projections/addresses/address-index.projection.ts';
import type { Mode, SessionId } from '../../src/domain/values/ids.ts';
import type { AddressFamily } from '../../src/domain/networks/networks.ts';
import { GivenAddresses } from '../../src/features/addresses/given-addresses.ts';
import { StoreUnavailable } from '../../src/ports/event-log/event-store.ts';
import { putRow, type ReadModel, type RowChange } from '../../src/ports/read-model/read-model.ts';
import { ownedRows } from '../../src/runtime/projections/batch.ts';
import { base58, base58Check } from '../../src/chain-formats/base58.ts';
import { bytesInMemory } from '../support/kept-bytes.ts';
import { MemoryReadModel } from '../support/memory-read-model.ts';
import { openTemporaryReadModel } from '../support/sqlite-read-model.ts';

interface Given {
  readonly mode: Mode;
  readonly family: AddressFamily;
  readonly address: string;
  readonly sessionId: SessionId;
}

const OWNED = ownedRows(addressIndex);
const ID = OWNED.projection;
const FAMILIES = ['evm', 'tron', 'solana'] as const;

/** Never twice the same. */
function addressOf(number: number, family: AddressFamily): string {
  const bytes = new Uint8Array(family === 'solana' ? 32 : 20);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = Math.imul(number + 1, 0x9e3779b1 + 2 * at) >>> (at % 20);
  new DataView(bytes.buffer).setUint32(0, number);
  if (family === 'solana') return base58(bytes);
  return family === 'tron'
    ? base58Check(Uint8Array.of(0x41, ...bytes))
    : `0x${Buffer.from(bytes).toString('hex').toUpperCase()}`;
}

const rowOf = ({ mode, family, address, sessionId }: Given, derivationIndex: number): RowChange =>
  putRow(ADDRESSES_TABLE, addressKey(mode, family, address), { sessionId, derivationIndex });

/** A log of addresses, its look-ups, and a process that is asked whose they are. */
class World {
  readonly #readModel: ReadModel;
  readonly #kept = bytesInMemory();
  #log: Given[] = [];
  #made = 0;
  /** Of the log, as the look-ups show it; null while they are being built. */
  #projected: number | null = null;
  #process!: GivenAddresses;
  /** Of the log, as the process followed it. */
  #followed = 0;
  /** What the process gave out itself, before it followed that far. */
  #own: Given[] = [];

  constructor(readModel: ReadModel) {
    this.#readModel = readModel;
  }

  async give(count: number, isOwn: boolean): Promise<void> {
    for (let left = count; left > 0; left -= 1) {
      const number = (this.#made += 1);
      const family = FAMILIES[number % 3]!;
      const given: Given = {
        mode: number % 2 === 0 ? 'test' : 'live',
        family,
        address: addressOf(number, family),
        sessionId: `cs_${String(number).padStart(32, 'a')}` as SessionId,
      };
      this.#log.push(given);
      if (!isOwn) continue;
      this.#process.add(given.mode, family, given.address, given.sessionId);
      this.#own.push(given);
    }
  }

  async follow(count: number): Promise<void> {
    const until = Math.min(this.#log.length, this.#followed + count);
    for (const { mode, family, address, sessionId } of this.#log.slice(this.#followed, until))
      this.#process.add(mode, family, address, sessionId);
    this.#followed = until;
  }

  async project(count: number): Promise<void> {
    if (this.#projected === null) return this.rebuild();
    const until = Math.min(this.#log.length, this.#projected + count);
    if (until === 0) return;
    await this.#readModel.apply(ID, this.#rows(this.#projected, until), String(until));
    this.#projected = until;
  }

  /** In other batches than before, to where the log is now. */
  async rebuild(): Promise<void> {
    const next = this.#readModel.next(OWNED);
    await next.drop();
    await next.begin();
    for (let from = 0; from < this.#log.length; from += 7)
      await next.apply(this.#rows(from, from + 7), String(Math.min(this.#log.length, from + 7)));
    if (this.#log.length > 0) await next.promote();
    this.#projected = this.#log.length;
  }

  async clear(): Promise<void> {
    await this.#readModel.clear(OWNED);
    this.#projected = null;
  }

  /** An older copy of the log is in its place. Look-ups of more than there is are forgotten. */
  async restore(lost: number): Promise<void> {
    await this.start('killed', 'filter kept');
    this.#log = this.#log.slice(0, Math.max(0, this.#log.length - lost));
    if ((this.#projected ?? 0) > this.#log.length) await this.clear();
    await this.start('killed', 'filter kept');
  }

  async start(end: 'in order' | 'killed' | 'first', filter: 'filter kept' | 'filter lost' | 'filter damaged') {
    await this.settled();
    if (end === 'in order') await this.#process.close();
    const { bytes } = this.#kept;
    if (filter === 'filter lost') this.#kept.bytes = null;
    else if (filter === 'filter damaged' && bytes) damage(bytes);
    this.#process = new GivenAddresses({
      readModel: this.#readModel,
      kept: this.#kept,
      onError: (error) => {
        throw error;
      },
      settleEvery: 3,
    });
    this.#own = [];
    this.#followed = Number((await this.#process.start()) ?? 0);
  }

  async settled(): Promise<void> {
    for (let turn = 0; turn < 4; turn += 1) await nextTurn();
  }

  /** The session of each address that the process was told of, and of nobody else's. */
  check(): void {
    const known = new Map([...this.#log.slice(0, this.#followed), ...this.#own].map((given) => [given.address, given]));
    for (const { mode, family, address, sessionId } of known.values()) {
      const found = this.#ask(mode, family, address);
      if (found !== sessionId && found !== 'later') throw new Error(`${address} is taken for one of ${found}`);
      const other = this.#ask(mode === 'live' ? 'test' : 'live', family, address);
      if (other !== null && other !== 'later') throw new Error(`${address} is taken for one of the other mode`);
    }
    for (let number = 1_000_000; number < 1_000_005; number += 1)
      for (const family of FAMILIES)
        if (typeof this.#ask('live', family, addressOf(number, family)) === 'string' && this.#projected !== null)
          throw new Error('a stranger is ours');
  }

  #ask(mode: Mode, family: AddressFamily, address: string): SessionId | 'later' | null {
    try {
      return this.#process.of(mode, family).sessionOf(address);
    } catch (error) {
      if (error instanceof StoreUnavailable && this.#projected === null) return 'later';
      throw error;
    }
  }

  #rows(from: number, until: number): RowChange[] {
    return this.#log.slice(from, until).map((given, at) => rowOf(given, from + at));
  }
}

/** Some of what it holds is not in it any more. */
const damage = (bytes: Uint8Array): void => {
  for (let at = 1_000; at < bytes.length - 4; at += 1) if (at % 3 > 0) bytes[at] = 0;
};

type Step = (world: World) => Promise<void>;

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.tuple(fc.integer({ min: 1, max: 9 }), fc.boolean()).map(
      ([n, own]): Step =>
        (world) =>
          world.give(n, own),
    ),
  },
  {
    weight: 5,
    arbitrary: fc.integer({ min: 1, max: 9 }).map(
      (n): Step =>
        (world) =>
          world.follow(n),
    ),
  },
  {
    weight: 5,
    arbitrary: fc.integer({ min: 1, max: 9 }).map(
      (n): Step =>
        (world) =>
          world.project(n),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Step>((world) => world.rebuild()) },
  { weight: 1, arbitrary: fc.constant<Step>((world) => world.clear()) },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 0, max: 9 }).map(
      (n): Step =>
        (world) =>
          world.restore(n),
    ),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        fc.constantFrom('in order', 'killed'),
        fc.constantFrom('filter kept', 'filter kept', 'filter lost', 'filter damaged'),
      )
      .map(
        ([end, filter]): Step =>
          (world) =>
            world.start(end, filter),
      ),
  },
);

async function live(readModel: ReadModel, steps: readonly Step[]): Promise<void> {
  const world = new World(readModel);
  await world.start('first', 'filter kept');
  await world.project(1);
  for (const take of steps) {
    await take(world);
    world.check();
    await world.settled();
    world.check();
  }
}

describe('addresses that were ever assigned, whatever happens to processes, look-ups and the filter', () => {
  const steps = fc.array(step, { minLength: 10, maxLength: 40, size: 'max' });

  it('are known by their session, and nobody else is, over maps', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(steps, (taken) => live(new MemoryReadModel(), taken)),
      { numRuns: 100 },
    );
  });

  it('are known even if an older log replaced the one from which the filter was built', async () => {
    await live(new MemoryReadModel(), [
      (world) => world.give(9, false),
      (world) => world.follow(9),
      (world) => world.project(9),
      (world) => world.start('in order', 'filter kept'),
      (world) => world.restore(9),
      (world) => world.give(12, false),
      (world) => world.rebuild(),
      (world) => world.start('killed', 'filter kept'),
    ]);
  });

  it('are known by their session, and nobody else is, over files', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        const opened = await openTemporaryReadModel();
        try {
          await live(opened.model, taken);
        } finally {
          await opened.dispose();
        }
      }),
      { numRuns: 20 },
    );
  });
});
