import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { AddressIndex } from '../src/features/addresses/address-index.ts';
import type { SessionId } from '../src/domain/ids.ts';
import type { AddressFamily } from '../src/domain/networks.ts';
import type { BenchSection } from './section.ts';

/*
 * Memory of every address ever given out, each size in a process of its own: what the index counts, and what the
 * process grew by.
 */

const SIZES = (process.env['BENCH_ADDRESSES'] ?? '1000000,10000000').split(',').map(Number);
const MEBIBYTE = 2 ** 20;

interface Measured {
  readonly addresses: number;
  readonly counted: number;
  readonly grown: number;
  readonly seconds: number;
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz234567';

/** Spread as hashes are, and made in less time than they are added. */
function facts(index: number): { readonly address: string; readonly sessionId: SessionId } {
  let text = '';
  let word = (index + 1) >>> 0;
  for (let part = 0; part < 5; part += 1) {
    word = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
    word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35);
    word = (word ^ (word >>> 16)) >>> 0;
    text += (part === 0 ? (index + 1) >>> 0 : word).toString(16).padStart(8, '0');
  }
  const id = Array.from({ length: 8 }, (_, at) => LETTERS[(index >>> (at * 4)) & 31]).join('');
  return { address: `0x${text}`, sessionId: `cs_${id.repeat(4)}` as SessionId };
}

/** The child's part. */
function measure(addresses: number, family: AddressFamily): Measured {
  const index = new AddressIndex(family);
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  const startedMs = performance.now();
  for (let at = 0; at < addresses; at += 1) {
    const { address, sessionId } = facts(at);
    index.add(address, sessionId);
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  globalThis.gc?.();
  return { addresses, counted: index.memoryBytes, grown: process.memoryUsage().rss - before, seconds };
}

const [flag, asked] = process.argv.slice(-2);
if (flag === '--addresses') process.stdout.write(JSON.stringify(measure(Number(asked), 'evm')));

/**
 * 20 bytes of a session and of a key; a table that is between three eighths and three quarters full, five bytes a
 * place.
 */
const largest = (keyBytes: number): number => keyBytes + 20 + 5 / (3 / 8);

export function benchAddressMemory(): BenchSection {
  const measured = SIZES.map((addresses): Measured => {
    const { stdout } = spawnSync(process.execPath, [
      '--expose-gc',
      fileURLToPath(import.meta.url),
      '--addresses',
      String(addresses),
    ]);
    return JSON.parse(stdout.toString()) as Measured;
  });
  const gibibytes = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`;
  const rows = measured.map(({ addresses, counted, grown, seconds }) => [
    addresses,
    (counted / addresses).toFixed(1),
    (grown / addresses).toFixed(1),
    `${Math.round(grown / MEBIBYTE)} MiB`,
    `${seconds.toFixed(1)} s`,
  ]);
  return {
    title: 'Memory of addresses',
    intro: 'Addresses of EVM networks in the index of one process, each with its session.',
    columns: [
      'addresses',
      'bytes an address, counted',
      'bytes an address, growth of the process',
      'growth',
      'added in',
    ],
    rows,
    notes: [
      `100 million take ${gibibytes(1e8 * largest(20))} at most (calculated from the table's layout: ${largest(20).toFixed(1)} bytes, ${largest(32).toFixed(1)} for Solana), 1,000 million ten times that.`,
    ],
  };
}
