import type { DepositFacts, SessionCreated } from '../../../domain/events/session-events.ts';
import { amountOf, formatAmount, parseAmount } from '../../../domain/money/money.ts';
import type { Network } from '../../../domain/networks/networks.ts';
import { toSec } from '../../../ports/clock.ts';
import { NoIncident, type Incident, type IncidentCoverage, type IncidentSession } from './incident-file.ts';
import { replay, turnsOf, type Replay, type Turn } from './replay.ts';
import { must } from '../../../domain/values/must.ts';

/** A policy that replaces parts of the one that was in force. */
export interface WhatIf {
  /** Units of the coin that may be missing. */
  readonly tolerance?: string;
  /** Blocks after which a payment on Ethereum counts. */
  readonly confirmations?: number;
  /** Amount in units from which two providers must have read the block. */
  readonly secondSource?: string;
}

const RULES: Readonly<Record<string, (value: string) => WhatIf | null>> = {
  tolerance: (value) => (parseAmount(value) === null ? null : { tolerance: formatAmount(must(parseAmount(value))) }),
  confirmations: (value) => (/^([1-9]|[1-8]\d|9[0-6])$/.test(value) ? { confirmations: Number(value) } : null),
  second_source: (value) =>
    parseAmount(value) === null ? null : { secondSource: formatAmount(must(parseAmount(value))) },
};
const WORDS: Readonly<Record<string, string>> = {
  tolerance: 'an amount such as 0.50',
  confirmations: 'a whole number from 1 to 96',
  second_source: 'an amount such as 100',
};

/** Parses texts such as `tolerance=0.50`. Throws `NoIncident` naming the invalid rule. */
export function parseWhatIf(texts: readonly string[]): WhatIf {
  return texts.reduce<WhatIf>((found, text) => {
    const [name, value] = splitOnce(text);
    const rule = Object.hasOwn(RULES, name) ? must(RULES[name]) : null;
    if (!rule) throw new NoIncident(`what-if: ${name} is not one of ${Object.keys(RULES).join(', ')}`);
    const change = rule(value);
    if (!change) throw new NoIncident(`what-if: ${name} must be ${must(WORDS[name])}`);
    return { ...found, ...change };
  }, {});
}

function splitOnce(text: string): [string, string] {
  const at = text.indexOf('=');
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

/** What the deciders would have decided under the other policy, from the same observations. */
export function replayUnder(policy: WhatIf, session: IncidentSession, coverage: Incident['coverage']): Replay {
  let turns = turnsOf(session);
  const created = turns[0]?.recorded[0];
  if (created?.type !== 'SessionCreated')
    throw new NoIncident(`file: session ${session.sessionId} does not begin with its creation`);
  const changed = changedTerms(created.data, policy);
  turns = turns.map((turn) =>
    turn.command?.type === 'CreateSession' ? { ...turn, command: { ...turn.command, data: changed } } : turn,
  );
  if (policy.confirmations !== undefined) turns = confirmedAfter(policy.confirmations, turns, created.data, coverage);
  if (policy.secondSource !== undefined) turns = readTwice(amountOf(policy.secondSource), turns, coverage);
  return replay(turns, true);
}

function changedTerms(data: SessionCreated['data'], { tolerance, confirmations }: WhatIf): SessionCreated['data'] {
  const paymentOptions = data.paymentOptions.map((option) =>
    confirmations === undefined || option.network !== 'ethereum'
      ? option
      : { ...option, finality: { kind: 'confirmations' as const, confirmations } },
  );
  if (tolerance === undefined) return { ...data, paymentOptions };
  return {
    ...data,
    paymentOptions,
    policy: { ...data.policy, tolerance },
    ...(data.alternative && { alternative: { ...data.alternative, tolerance } }),
  };
}

/** The height of a chain at a moment, as far as the file tells. */
interface HeadSeen {
  readonly atMs: number;
  readonly head: number;
}

/**
 * A transfer on Ethereum counts as soon as the chain is known to have reached the height, if the transfer was still
 * there.
 */
function confirmedAfter(
  confirmations: number,
  turns: readonly Turn[],
  { mode }: SessionCreated['data'],
  coverage: Incident['coverage'],
): Turn[] {
  const detected = deposits(turns).filter(({ facts }) => facts.network === 'ethereum');
  const heads = headsOf(
    'ethereum',
    turns,
    coverage.filter(({ range }) => range.mode === mode),
  );
  const isConfirming = ({ command }: Turn, key?: string): boolean =>
    command?.type === 'ConfirmDeposit' &&
    (key === undefined
      ? detected.some(({ facts }) => facts.depositKey === command.data.depositKey)
      : command.data.depositKey === key);
  const kept = turns.filter((turn) => !isConfirming(turn));
  const added = detected.map(({ facts, atMs }): Turn => {
    const own = turns.find((turn) => isConfirming(turn, facts.depositKey));
    const confirmed = own?.command?.type === 'ConfirmDeposit' ? own.command : null;
    const block = confirmed?.data ?? facts;
    const needed = block.blockNumber + confirmations - 1;
    const seen = heads.find(({ head, atMs: seenMs }) => head >= needed && seenMs >= atMs);
    const about = `${facts.amount} ${facts.coin} in block ${block.blockNumber}`;
    if (!seen) {
      const lastMs = Math.max(...turns.map((turn) => turn.atMs));
      return {
        atMs: lastMs,
        actor: 'what-if',
        command: null,
        recorded: [],
        note: `Nothing in the file shows the chain at block ${needed}: ${about} would not count yet.`,
      };
    }
    const { depositKey, blockNumber, blockHash, blockTimeSec } = block;
    const data = {
      depositKey,
      rule: { kind: 'confirmations' as const, confirmations },
      blockNumber,
      blockHash,
      blockTimeSec,
      headNumber: seen.head,
    };
    return {
      atMs: seen.atMs,
      actor: 'what-if',
      command: { type: 'ConfirmDeposit', data, nowSec: toSec(seen.atMs), valuation: confirmed?.valuation ?? null },
      recorded: [],
      note: `${about} counts after ${confirmations} confirmations, at block ${needed}, which is when the chain was first known to be that far.`,
    };
  });
  return [...kept, ...added].sort((one, other) => one.atMs - other.atMs);
}

function headsOf(network: Network, turns: readonly Turn[], coverage: readonly IncidentCoverage[]): HeadSeen[] {
  const read = coverage
    .filter(({ range }) => range.network === network)
    .map(({ atMs, range }) => ({ atMs, head: range.toBlock }));
  const replayed = turns.flatMap(({ atMs, recorded }) =>
    recorded.flatMap((event): HeadSeen[] => {
      if (event.type !== 'DepositConfirmed' && event.type !== 'DepositReverted') return [];
      return event.data.depositKey.startsWith(`${network}:`) ? [{ atMs, head: event.data.headNumber }] : [];
    }),
  );
  return [...read, ...replayed].sort((one, other) => one.atMs - other.atMs);
}

/** A payment of this amount counts only where two providers are recorded as having read its block. */
function readTwice(from: bigint, turns: readonly Turn[], coverage: Incident['coverage']): Turn[] {
  const facts = new Map(deposits(turns).map((deposit) => [deposit.facts.depositKey, deposit.facts]));
  return turns.map((turn) => {
    const { command } = turn;
    const deposit = command?.type === 'ConfirmDeposit' ? facts.get(command.data.depositKey) : undefined;
    if (command?.type !== 'ConfirmDeposit' || !deposit || amountOf(deposit.amount) < from) return turn;
    const readers = readersOf(deposit.network, command.data.blockNumber, coverage);
    const seen = `${deposit.amount} ${deposit.coin}: block ${command.data.blockNumber} was read by ${readers.join(' and ') || 'nobody that the file names'}`;
    return readers.length >= 2
      ? { ...turn, note: `${seen}.` }
      : { ...turn, command: null, recorded: [], note: `${seen}, so it would wait for a second one.` };
  });
}

const readersOf = (network: Network, block: number, coverage: readonly IncidentCoverage[]): string[] => [
  ...new Set(
    coverage
      .filter(({ range }) => range.network === network && range.fromBlock <= block && range.toBlock >= block)
      .flatMap(({ range }) => range.providers),
  ),
];

const deposits = (turns: readonly Turn[]): { readonly atMs: number; readonly facts: DepositFacts }[] =>
  turns.flatMap(({ atMs, command }) => (command?.type === 'RecordDeposit' ? [{ atMs, facts: command.facts }] : []));
