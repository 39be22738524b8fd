import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MessageChannel } from 'node:worker_threads';
import { keptFile } from '../src/adapters/node/kept-file.ts';
import { serveSqliteReadModel } from '../src/adapters/sqlite/read-model/read-model.ts';
import { AddressIndex } from '../src/features/addresses/address-index.ts';
import { AddressFilter } from '../src/features/addresses/filter.ts';
import { GivenAddresses } from '../src/features/addresses/given-addresses.ts';
import { ownedRows } from '../src/runtime/projections/batch.ts';
import { addressIndex, addressKey, ADDRESSES_TABLE } from '../projections/addresses/address-index.projection.ts';
import { type ReadModel, putRow } from '../src/ports/read-model/read-model.ts';
import type { BenchSection } from './section.ts';

/*
 * What every address ever given out costs a process, each size in processes of its own: memory, a start with and
 * without the filter that the last run kept, and questions whose an address is.
 */

const SIZES = (process.env['BENCH_ADDRESSES'] ?? '1000000,10000000').split(',').map(Number);
/** Measured without rows on disk, which take half an hour to write. */
const FILTER_ALONE = Number(process.env['BENCH_FILTER'] ?? 100_000_000);
const MEBIBYTE = 2 ** 20;
const BATCH = 50_000;
const STRANGERS = 1_000_000;
const OWN = 20_000;
const OWNED = ownedRows(addressIndex);

interface Measured {
  /** Of the process, in bytes, and in seconds of processor time. */
  readonly grown: number;
  readonly startSec: number;
  readonly filterBytes: number;
  /** Nanoseconds of processor time. */
  readonly sifted: number;
  readonly stranger: number;
  readonly own: number;
  /** Of the strangers. */
  readonly passed: number;
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz234567';

/** Spread as hashes are, and made in less time than they are written. */
function addressOf(index: number): string {
  let text = '';
  let word = (index + 1) >>> 0;
  for (let part = 0; part < 5; part += 1) {
    word = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
    word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35);
    word = (word ^ (word >>> 16)) >>> 0;
    text += (part === 0 ? (index + 1) >>> 0 : word).toString(16).padStart(8, '0');
  }
  return `0x${text}`;
}

function sessionOf(index: number): string {
  const id = Array.from({ length: 8 }, (_, at) => LETTERS[(index >>> (at * 4)) & 31]).join('');
  return `cs_${id.repeat(4)}`;
}

async function withRows<Result>(dataDir: string, use: (readModel: ReadModel) => Promise<Result>): Promise<Result> {
  const { port1, port2 } = new MessageChannel();
  const readModel = serveSqliteReadModel({ dataDir, port: port1 });
  try {
    return await use(readModel);
  } finally {
    await readModel.close();
    port1.close();
    port2.close();
  }
}

/** The look-ups as a rebuild makes them. */
const fill = (dataDir: string, addresses: number): Promise<void> =>
  withRows(dataDir, async (readModel) => {
    const next = readModel.next(OWNED);
    await next.begin();
    for (let first = 0; first < addresses; first += BATCH) {
      const changes = Array.from({ length: Math.min(BATCH, addresses - first) }, (_, at) =>
        putRow(ADDRESSES_TABLE, addressKey('live', 'evm', addressOf(first + at)), {
          sessionId: sessionOf(first + at),
          derivationIndex: first + at,
        }),
      );
      await next.apply(changes, String(first + changes.length));
    }
    await next.promote();
  });

const processorSec = (before: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
};

function nanoseconds(count: number, work: () => void): number {
  const before = process.cpuUsage();
  work();
  return (processorSec(before) * 1e9) / count;
}

function askOfStrangers(index: AddressIndex, addresses: number): Pick<Measured, 'sifted' | 'stranger' | 'passed'> {
  const strangers = Array.from({ length: STRANGERS }, (_, at) => addressOf(addresses + at));
  const topics = strangers.map((address) => `0x${'0'.repeat(24)}${address.slice(2)}`);
  let passed = 0;
  const sifted = nanoseconds(STRANGERS, () => (passed = index.isOurs.sift?.(topics).length ?? 0));
  const stranger = nanoseconds(STRANGERS, () => {
    if (strangers.some((address) => index.has(address))) throw new Error('a stranger is ours');
  });
  return { sifted, stranger, passed };
}

/** What passes the filter is answered without a look at the disk. */
function measureFilter(addresses: number): Omit<Measured, 'own'> {
  globalThis.gc?.();
  const before = process.memoryUsage();
  const startedAt = process.cpuUsage();
  const filter = new AddressFilter();
  const index = new AddressIndex('evm', { filter, seed: 0, stored: () => ({ sessionId: null, isWhole: true }) });
  for (let at = 0; at < addresses; at += 1) index.settle(addressOf(at));
  const startSec = processorSec(startedAt);
  globalThis.gc?.();
  const after = process.memoryUsage();
  const grown = after.heapUsed + after.external - before.heapUsed - before.external;
  return { grown, startSec, filterBytes: filter.memoryBytes, ...askOfStrangers(index, addresses) };
}

/** A start, and questions. */
const measure = (dataDir: string, addresses: number): Promise<Measured> =>
  withRows(dataDir, async (readModel) => {
    globalThis.gc?.();
    const before = process.memoryUsage();
    const startedAt = process.cpuUsage();
    const given = new GivenAddresses({
      readModel,
      kept: keptFile(join(dataDir, 'read-model.addresses')),
      onError: (error) => {
        throw error;
      },
    });
    await given.start();
    const startSec = processorSec(startedAt);
    globalThis.gc?.();
    const after = process.memoryUsage();
    const index = given.of('live', 'evm');
    const ofStrangers = askOfStrangers(index, addresses);
    const mine = Array.from({ length: OWN }, (_, at) => Math.imul(at, 0x9e3779b1) >>> 0).map((at) => at % addresses);
    const own = nanoseconds(OWN, () => {
      for (const at of mine)
        if (index.sessionOf(addressOf(at)) !== sessionOf(at)) throw new Error('an address of ours was not found');
    });
    const grown = after.heapUsed + after.external - before.heapUsed - before.external;
    await given.close();
    return { grown, startSec, filterBytes: given.filterBytes, own, ...ofStrangers };
  });

const [flag, folder, asked] = process.argv.slice(-3);
if (flag === '--fill') await fill(folder ?? '', Number(asked));
if (flag === '--filter') process.stdout.write(JSON.stringify(measureFilter(Number(asked))));
if (flag === '--start') process.stdout.write(JSON.stringify(await measure(folder ?? '', Number(asked))));

function child(...args: readonly string[]): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, [
    '--expose-gc',
    fileURLToPath(import.meta.url),
    ...args,
  ]);
  if (status !== 0) throw new Error(stderr.toString());
  return stdout.toString();
}

function rowOf(addresses: number): string[] {
  const dataDir = mkdtempSync(join(tmpdir(), 'quittance-bench-addresses-'));
  try {
    child('--fill', dataDir, String(addresses));
    const first = JSON.parse(child('--start', dataDir, String(addresses))) as Measured;
    const again = JSON.parse(child('--start', dataDir, String(addresses))) as Measured;
    return [
      addresses.toLocaleString('en-US'),
      `${(again.grown / MEBIBYTE).toFixed(1)} MiB`,
      ((again.filterBytes * 8) / addresses).toFixed(1),
      (statSync(join(dataDir, 'read-model.db')).size / addresses).toFixed(0),
      `${first.startSec.toFixed(2)} s`,
      `${again.startSec.toFixed(2)} s`,
      again.sifted.toFixed(0),
      again.stranger.toFixed(0),
      `${((100 * again.passed) / STRANGERS).toFixed(2)}%`,
      (again.own / 1_000).toFixed(1),
    ];
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

function filterRow(addresses: number): string[] {
  const { grown, filterBytes, sifted, stranger, passed } = JSON.parse(
    child('--filter', '', String(addresses)),
  ) as Measured;
  return [
    `${addresses.toLocaleString('en-US')}, the filter alone`,
    `${(grown / MEBIBYTE).toFixed(1)} MiB`,
    ((filterBytes * 8) / addresses).toFixed(1),
    ...['', '', ''],
    sifted.toFixed(0),
    stranger.toFixed(0),
    `${((100 * passed) / STRANGERS).toFixed(2)}%`,
    '',
  ];
}

export function benchAddressMemory(): BenchSection {
  return {
    title: 'Memory of addresses',
    intro:
      'Addresses of EVM networks that were ever given out, each with its session, in the look-ups of one process. Times are of the processor.',
    columns: [
      'addresses',
      'memory',
      'bits an address in the filter',
      'bytes an address on disk',
      'start without a filter',
      'start with the one that was kept',
      'a stranger of many, ns',
      'a stranger alone, ns',
      'strangers that pass the filter',
      'one of ours, µs',
    ],
    rows: [...SIZES.map(rowOf), filterRow(FILTER_ALONE)],
    notes: [
      'An index in memory, as it was before, took 58 MiB for a million and 507 MiB for ten (51 to 61 bytes an address).',
      'The last row puts addresses into the filter of an index and asks it; its rows on disk would take as many bytes each as in the rows above.',
      '`BENCH_ADDRESSES=100000000 npm run bench -- address-memory` measures as far as there are time and disk.',
    ],
  };
}
