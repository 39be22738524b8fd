import { randomBytes } from 'node:crypto';
import { matchLogs } from '../src/adapters/evm/log-scanner.ts';
import type { RawLog } from '../src/adapters/evm/rpc.ts';
import { tokensByAddress, TRANSFER_TOPIC } from '../src/adapters/evm/transfer-log.ts';
import { base32 } from '../src/domain/ids.ts';
import type { SessionId } from '../src/domain/ids.ts';
import { AddressIndex } from '../src/features/addresses/address-index.ts';
import { median } from './section.ts';

/*
 * How fast whole `eth_getLogs` answers are matched with the addresses ever given out, against `JSON.parse` of the same
 * text alone. One transfer in a hundred is ours. Rounds alternate, so that a noisy machine disturbs all alike.
 */

const USDT = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
const LOGS_PER_ANSWER = 2_000;
const ANSWERS = 12;
const ROUNDS = 24;
const OURS_EVERY = 100;

const hex = (bytes: number): string => randomBytes(bytes).toString('hex');
const tokens = tokensByAddress([{ coin: 'USDT', address: USDT, decimals: 6 }]);

function filledIndex(count: number): { index: AddressIndex; sample: string[] } {
  const index = new AddressIndex('evm');
  const sample: string[] = [];
  for (let added = 0; added < count; added += 1) {
    const address = `0x${hex(20)}`;
    index.add(address, `cs_${base32(randomBytes(20))}` as SessionId);
    if (sample.length < 5_000) sample.push(address);
  }
  return { index, sample };
}

/** Text as a node sends it: about 600 bytes a log. */
function answer(ours: readonly string[]): string {
  const blockHash = `0x${hex(32)}`;
  const logs = Array.from({ length: LOGS_PER_ANSWER }, (_, at): RawLog & Record<string, unknown> => ({
    address: USDT.toLowerCase(),
    topics: [
      TRANSFER_TOPIC,
      `0x${'0'.repeat(24)}${hex(20)}`,
      `0x${'0'.repeat(24)}${at % OURS_EVERY === 0 ? ours[at % ours.length]!.slice(2) : hex(20)}`,
    ],
    data: `0x${(1_000_000n + BigInt(at)).toString(16).padStart(64, '0')}`,
    blockNumber: '0x101dead',
    transactionHash: `0x${hex(32)}`,
    transactionIndex: `0x${at.toString(16)}`,
    blockHash,
    logIndex: `0x${at.toString(16)}`,
    removed: false,
  }));
  return JSON.stringify({ jsonrpc: '2.0', id: 1, result: logs });
}

function transfersPerSecond(texts: readonly string[], handle: (logs: RawLog[]) => number): number {
  const startedMs = performance.now();
  let found = 0;
  for (const text of texts) found += handle((JSON.parse(text) as { result: RawLog[] }).result);
  const seconds = (performance.now() - startedMs) / 1000;
  if (found < 0) throw new Error('unreachable');
  return (texts.length * LOGS_PER_ANSWER) / seconds;
}

/** Lookups alone, of addresses that are not ours but for one in a hundred. */
function lookupsPerSecond(index: AddressIndex, sample: readonly string[]): number {
  const addresses = Array.from({ length: 200_000 }, (_, at) =>
    at % OURS_EVERY === 0 ? sample[at % sample.length]! : `0x${hex(20)}`,
  );
  const startedMs = performance.now();
  let found = 0;
  for (const address of addresses) if (index.has(address)) found += 1;
  const perSecond = addresses.length / ((performance.now() - startedMs) / 1000);
  if (found < addresses.length / OURS_EVERY) throw new Error('a known address was not found');
  return perSecond;
}

const cases = [1_000, 1_000_000].map((count) => ({ count, ...filledIndex(count) }));
const texts = cases.map(({ sample }) => Array.from({ length: ANSWERS }, () => answer(sample)));
const parseOnly: number[] = [];
const matched: number[][] = cases.map(() => []);
for (let round = 0; round < ROUNDS; round += 1) {
  parseOnly.push(transfersPerSecond(texts[round % 2]!, (logs) => logs.length));
  cases.forEach(({ index }, at) => {
    matched[at]!.push(
      transfersPerSecond(texts[at]!, (logs) => {
        const ours = matchLogs(logs, tokens, index.isOurs).length;
        if (ours !== LOGS_PER_ANSWER / OURS_EVERY) throw new Error(`found ${ours} of ${LOGS_PER_ANSWER / OURS_EVERY}`);
        return ours;
      }),
    );
  });
}

const base = median(parseOnly);
console.log(
  `JSON.parse alone: ${Math.round(base).toLocaleString('en')} transfers/s (${Math.round(texts[0]![0]!.length / LOGS_PER_ANSWER)} bytes a log)`,
);
cases.forEach(({ count, index, sample }, at) => {
  const rate = median(matched[at]!);
  const lookups = lookupsPerSecond(index, sample);
  console.log(
    `${count.toLocaleString('en')} addresses: ${Math.round(rate).toLocaleString('en')} transfers/s, ${(rate / base).toFixed(2)}x of JSON.parse alone; ` +
      `${Math.round(lookups).toLocaleString('en')} lookups/s`,
  );
});
