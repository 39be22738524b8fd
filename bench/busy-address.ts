import { setTimeout as sleep } from 'node:timers/promises';
import type { SessionEvent } from '../src/domain/events/session-events.ts';
import { sessionTable } from '../src/features/shared/handlers/session-handler.ts';
import { decideSession, type SessionState } from '../state-machines/checkout-session/session.decider.ts';
import {
  createdFacts,
  depositConfirmed,
  depositDetected,
  depositFacts,
  EXPIRES_AT,
} from '../test/support/session-facts.ts';
import { inWorld, type World } from './payments.ts';
import { startQuittance } from './payments/service.ts';
import { median, percentile, type BenchSection } from './section.ts';

/*
 * What a stranger's worthless transfers to one address cost: the replay of its session, and the creates of other orders
 * while they come in, against the real service as a process.
 */

const DUST = 5_000;
const REPLAYS = 9;
const MOST_REPLAY_MS = 50;
const TRANSFERS_A_SECOND = 50;
const CREATES_A_SECOND = 25;
const ROUND_SECONDS = 10;
const ROUNDS = 3;
const MOST_RATIO = 1.2;
const UNITS = '1000';

/** 0.001 each, in readings of fifteen seconds. */
const transfers = Array.from({ length: DUST }, (_, index) =>
  depositFacts({
    txHash: `0x${index}`,
    amount: '0.001',
    blockNumber: 100 + Math.floor(index / 50),
    fromAddress: '0xP',
  }),
);
const created: SessionEvent = { type: 'SessionCreated', data: createdFacts({ dueAmount: '100.00', amount: '100.00' }) };

function asRecorded(): SessionEvent[] {
  let state: SessionState = sessionTable.replay([created]);
  const events: SessionEvent[] = [created];
  const reading = TRANSFERS_A_SECOND * 15;
  for (let at = 0; at < DUST; at += reading) {
    const some = transfers.slice(at, at + reading);
    for (const command of [
      { type: 'RecordDeposits', transfers: some.map((facts) => ({ facts })) },
      {
        type: 'ConfirmDeposits',
        confirmations: some.map((facts) => depositConfirmed(facts).data),
        nowSec: EXPIRES_AT,
        valuation: null,
      },
      { type: 'CountTogether', transfers: some, headNumber: 1_000, nowSec: EXPIRES_AT, valuation: null },
    ] as const) {
      const decision = decideSession(command, state);
      if (!decision.ok) throw new Error(decision.refusal.message);
      state = sessionTable.replay(decision.events, state);
      events.push(...decision.events);
    }
  }
  return events;
}

const oneByOne = (): SessionEvent[] => [
  created,
  ...transfers.flatMap((facts) => [depositDetected(facts, 'dust'), depositConfirmed(facts)]),
];

function replayMs(events: readonly SessionEvent[]): number {
  const times = Array.from({ length: REPLAYS }, () => {
    const startedMs = performance.now();
    sessionTable.replay(events);
    return performance.now() - startedMs;
  });
  return median(times);
}

/** Times of creates at a steady pace, whether or not the earlier ones have been answered. */
async function creates({ shop }: World): Promise<number[]> {
  const times: Promise<number>[] = [];
  const create = async (): Promise<number> => {
    const startedMs = performance.now();
    await shop.create(0);
    return performance.now() - startedMs;
  };
  for (let made = 0; made < CREATES_A_SECOND * ROUND_SECONDS; made += 1) {
    times.push(create());
    await sleep(1_000 / CREATES_A_SECOND);
  }
  return Promise.all(times);
}

interface Measured {
  readonly quietMs: readonly number[];
  readonly busyMs: readonly number[];
  readonly pageMs: readonly [number, number];
  readonly pageBytes: readonly [number, number];
}

async function measure(world: World): Promise<Measured> {
  const { candidate, shop, chains } = world;
  const busy = await shop.create(0);
  const page = async (): Promise<[number, number]> => {
    const startedMs = performance.now();
    const text = await (await fetch(`${candidate.baseUrl}/pay/${busy.reference}`)).text();
    return [performance.now() - startedMs, text.length];
  };
  const before = await page();
  const [quietMs, busyMs]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    quietMs.push(...(await creates(world)));
    const dust = Array.from({ length: TRANSFERS_A_SECOND }, () => ({ ...busy, reference: 'dust', units: UNITS }));
    const paying = setInterval(() => chains[0]!.chain.child.send({ pay: dust }), 1_000);
    busyMs.push(...(await creates(world)));
    clearInterval(paying);
    // The last of them become final.
    await sleep(5_000);
  }
  const after = await page();
  return { quietMs, busyMs, pageMs: [before[0], after[0]], pageBytes: [before[1], after[1]] };
}

const ms = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} ms`;

export async function benchBusyAddress(): Promise<BenchSection> {
  const [stored, single] = [asRecorded(), oneByOne()];
  const [storedMs, singleMs] = [replayMs(stored), replayMs(single)];
  const { quietMs, busyMs, pageMs, pageBytes } = await inWorld(startQuittance, measure);
  const [quiet, busy] = [percentile(quietMs, 0.99), percentile(busyMs, 0.99)];
  const sent = ROUNDS * ROUND_SECONDS * TRANSFERS_A_SECOND;
  return {
    title: 'A busy address',
    intro: `A stranger sends 0.001 USDT again and again to the address of one session. The replay of that session after ${DUST.toLocaleString('en')} transfers, the median of ${REPLAYS}; and creates of other orders, ${CREATES_A_SECOND} a second, in ${ROUNDS} turns of ${ROUND_SECONDS} s without and with ${TRANSFERS_A_SECOND} transfers a second, against the embedded service as a process.`,
    columns: ['what', 'now', 'before (28 November 2026)'],
    rows: [
      [`replay of the session, ${stored.length} events as they are recorded`, ms(storedMs), '53 s (10,001 events)'],
      ['replay of the same transfers recorded one by one', ms(singleMs), '53 s'],
      [
        'creates of other orders, p50 / p99, nothing else',
        `${ms(median(quietMs))} / ${ms(quiet)}`,
        'p50 50 ms on a busy machine',
      ],
      [
        `the same with ${TRANSFERS_A_SECOND} transfers a second`,
        `${ms(median(busyMs))} / ${ms(busy)}`,
        'p50 169 ms, p99 3.6 s at worst',
      ],
      [
        `page of the session, before and after ${sent.toLocaleString('en')} transfers`,
        `${ms(pageMs[0])}, ${ms(pageMs[1])}; ${pageBytes[0].toLocaleString('en')}, ${pageBytes[1].toLocaleString('en')} bytes`,
        '2 to 21 s after 1,500',
      ],
    ],
    notes: ['The figures before are of the same load on a busy machine.'],
    goals: [
      {
        goal: `The replay of a session with ${DUST.toLocaleString('en')} dust deposits takes at most ${MOST_REPLAY_MS} ms`,
        measured: ms(storedMs),
        holds: storedMs <= MOST_REPLAY_MS,
      },
      {
        goal: `Other orders' p99 stays within ${MOST_RATIO} times while one address gets ${TRANSFERS_A_SECOND} transfers a second`,
        measured: `${(busy / quiet).toFixed(2)} times`,
        holds: busy / quiet <= MOST_RATIO,
        needed: 'The watcher, the signer and the look-ups share two cores with the creates',
      },
    ],
  };
}
