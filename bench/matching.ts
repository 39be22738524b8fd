import { randomBytes } from 'node:crypto';
import { matchLogs } from '../src/adapters/evm/log-scanner.ts';
import type { RawLog } from '../src/adapters/evm/rpc.ts';
import { tokensByAddress, TRANSFER_TOPIC } from '../src/adapters/evm/transfer-log.ts';
import { base32, type SessionId } from '../src/domain/values/ids.ts';
import { AddressIndex } from '../src/features/addresses/address-index.ts';
import { median, type BenchSection } from './section.ts';

/*
 * How fast whole `eth_getLogs` answers are matched with the addresses ever given out, against `JSON.parse` of the same
 * text alone. One transfer in a hundred is ours. Rounds alternate, so that a noisy machine disturbs all alike.
 */

const USDT = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
const LOGS_PER_ANSWER = 2_000;
const ANSWERS = 12;
const ROUNDS = 24;
const OURS_EVERY = 100;
const [FEW, MANY] = [1_000, 1_000_000];
const LEAST_OF_PARSE = 0.8;

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

interface Case {
  readonly index: AddressIndex;
  readonly texts: readonly string[];
  readonly rates: number[];
}

function caseOf(count: number): Case {
  const { index, sample } = filledIndex(count);
  return { index, texts: Array.from({ length: ANSWERS }, () => answer(sample)), rates: [] };
}

function matchedAll(logs: readonly RawLog[], index: AddressIndex): number {
  const ours = matchLogs(logs, tokens, index.isOurs).length;
  if (ours !== LOGS_PER_ANSWER / OURS_EVERY) throw new Error(`found ${ours} of ${LOGS_PER_ANSWER / OURS_EVERY}`);
  return ours;
}

export function benchMatching(): BenchSection {
  const [few, many] = [caseOf(FEW), caseOf(MANY)];
  const parseOnly: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    parseOnly.push(transfersPerSecond(many.texts, (logs) => logs.length));
    for (const { index, texts, rates } of [few, many])
      rates.push(transfersPerSecond(texts, (logs) => matchedAll(logs, index)));
  }
  const [parsed, ofFew, ofMany] = [parseOnly, few.rates, many.rates].map(median) as [number, number, number];
  const row = (what: string, rate: number): string[] => [
    what,
    Math.round(rate).toLocaleString('en'),
    (rate / parsed).toFixed(2),
  ];
  return {
    title: 'Matching transfers',
    intro: `Whole \`eth_getLogs\` answers of ${LOGS_PER_ANSWER} transfers, matched with the addresses that were ever given out. One transfer in ${OURS_EVERY} is ours. Medians of ${ROUNDS} alternating rounds.`,
    columns: ['what', 'transfers a second', 'ratio'],
    rows: [
      row('`JSON.parse` alone', parsed),
      row(`with ${FEW.toLocaleString('en')} addresses`, ofFew),
      row(`with ${MANY.toLocaleString('en')} addresses`, ofMany),
    ],
    goals: [
      {
        goal: `Transfers are matched with a million addresses at ${LEAST_OF_PARSE} of the rate of \`JSON.parse\` alone`,
        measured: (ofMany / parsed).toFixed(2),
        holds: ofMany / parsed >= LEAST_OF_PARSE,
        needed: 'Logs that are not ours would have to be sifted in the bytes, before they are parsed',
      },
    ],
  };
}
