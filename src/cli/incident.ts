import { readFileSync } from 'node:fs';
import { parseSessionId } from '../domain/values/ids.ts';
import {
  parseIncident,
  NoIncident,
  type Incident,
  type IncidentSession,
  type IncidentSubject,
} from '../features/sessions/incident/incident-file.ts';
import { replay, turnsOf, type Replay, type Standing, type Step } from '../features/sessions/incident/replay.ts';
import { parseWhatIf, replayUnder, type WhatIf } from '../features/sessions/incident/what-if.ts';
import type { JsonValue } from '../ports/read-model/read-model.ts';
import { inert } from './print.ts';
import { parseJson } from '../runtime/util/parse-json.ts';
import { codeOf } from '../runtime/util/code-of.ts';

/**
 * A session, or two times separated by two dots: Unix seconds, or timestamps such as 2026-11-23T18:00Z. Throws
 * `NoIncident`.
 */
export function parseSubject(text: string): IncidentSubject {
  const sessionId = parseSessionId(text);
  if (sessionId !== null) return { sessionId };
  const [from, to, more] = text.split('..');
  const [fromSec, toSec] = [momentOf(from ?? ''), momentOf(to ?? '')];
  if (fromSec === null || toSec === null || more !== undefined)
    throw new NoIncident(
      'subject: must be the id of a session, or from..to in Unix seconds or times such as 2026-11-23T18:00Z',
    );
  if (fromSec > toSec) throw new NoIncident('subject: the end is before the start');
  return { fromSec, toSec };
}

function momentOf(text: string): number | null {
  if (/^\d{1,11}$/.test(text)) return Number(text);
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?Z)?$/.test(text)) return null;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : Math.floor(ms / 1000);
}

export interface OpenOptions {
  readonly session?: string;
  readonly whatIf?: readonly string[];
}

interface Opened {
  readonly incident: Incident;
  readonly policy: WhatIf | null;
  readonly sessions: readonly {
    readonly session: IncidentSession;
    readonly recorded: Replay;
    readonly other: Replay | null;
  }[];
}

/** Reads only the file. Throws `NoIncident`. */
export function openIncident(file: string, { session, whatIf = [] }: OpenOptions): Opened {
  const policy = whatIf.length === 0 ? null : parseWhatIf(whatIf);
  const incident = parseIncident(textOf(file));
  const chosen = incident.sessions.filter(
    ({ sessionId }) => session === undefined || sessionId === parseSessionId(session),
  );
  if (chosen.length === 0) throw new NoIncident(`session: ${session ?? ''} is not in the file`);
  return {
    ...{ incident, policy },
    sessions: chosen.map((one) => ({
      session: one,
      recorded: replay(turnsOf(one)),
      other: policy && replayUnder(policy, one, incident.coverage),
    })),
  };
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new NoIncident(`file: ${file} cannot be read (${codeOf(error) ?? 'unknown'})`);
  }
}

/** For programs: everything that the text contains. */
export const incidentJson = ({ incident, policy, sessions }: Opened): JsonValue =>
  parseJson(
    JSON.stringify({
      made_at: incident.madeAtSec,
      subject: incident.subject,
      configuration: incident.configuration,
      what_if: policy,
      sessions: sessions.map(({ session, recorded, other }) => ({
        ...{ session_id: session.sessionId, recorded, what_if: other, deliveries: session.deliveries },
      })),
      logs: incident.logs,
    }),
  );

/** For people. */
export function incidentText({ incident, policy, sessions }: Opened): string {
  const { subject } = incident;
  const about =
    'sessionId' in subject
      ? `session ${subject.sessionId}`
      : `${at(subject.fromSec * 1000)} to ${at(subject.toSec * 1000)}`;
  const lines = [
    `Incident: ${about}, exported ${at(incident.madeAtSec * 1000)}. ${sessions.length} session(s), every event with its own hash.`,
    `Configuration: ${JSON.stringify(incident.configuration)}`,
  ];
  for (const { session, recorded, other } of sessions) {
    lines.push('', `Session ${session.sessionId}`, ...recorded.steps.flatMap((step) => stepLines(step)));
    lines.push(...session.deliveries.map(({ atMs, message }) => `${at(atMs)}  webhook: ${message}`));
    if (other && policy)
      lines.push(
        '',
        `What if ${wordsOf(policy)}`,
        ...other.steps.flatMap((step) => stepLines(step)),
        ...comparison(recorded, other),
      );
  }
  lines.push('', ...coverageLines(incident));
  if (incident.logs.length > 0)
    lines.push('', `Log lines: ${incident.logs.length}`, ...incident.logs.map((line) => JSON.stringify(line)));
  return lines.map(inert).join('\n');
}

const at = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

function stepLines({ atMs, actor, command, outcome, agrees, note, standing }: Step): string[] {
  const asked = command === null ? 'recorded' : command;
  const verdict = agrees === false ? '  DIFFERS: this program decides differently from the record' : '';
  return [
    `${at(atMs)}  ${asked} (${actor})${verdict}`,
    ...(note === undefined ? [] : [`    ${note}`]),
    ...outcome.map((line) => `    ${line}`),
    `    -> ${standingText(standing)}`,
  ];
}

const standingText = ({ status, received, pending, excess, refundable }: Standing): string =>
  `${status}; received ${received}, pending ${pending}, excess ${excess}, refundable ${refundable}`;

const wordsOf = ({ tolerance, confirmations, secondSource }: WhatIf): string =>
  [
    ...(tolerance === undefined ? [] : [`the tolerance had been ${tolerance}`]),
    ...(confirmations === undefined ? [] : [`a payment on Ethereum had counted after ${confirmations} confirmations`]),
    ...(secondSource === undefined ? [] : [`two providers had been required from ${secondSource}`]),
  ].join(' and ');

function comparison(recorded: Replay, other: Replay): string[] {
  const paid = ({ paidAtSec }: Replay): string =>
    paidAtSec === null ? 'never paid' : `paid at ${at(paidAtSec * 1000)}`;
  const same =
    recorded.paidAtSec === other.paidAtSec && standingText(recorded.standing) === standingText(other.standing);
  return [
    same ? 'The outcome would have been the same.' : 'The outcome would have been different:',
    `    recorded:    ${paid(recorded)}; ${standingText(recorded.standing)}`,
    `    instead:     ${paid(other)}; ${standingText(other.standing)}`,
  ];
}

function coverageLines({ coverage }: Incident): string[] {
  const networks = [...new Set(coverage.map(({ range }) => `${range.mode} ${range.network}`))];
  return [
    'Blocks read, by provider:',
    ...networks.map((name) => {
      const ranges = coverage
        .filter(({ range }) => `${range.mode} ${range.network}` === name)
        .map(({ range }) => range);
      const [first, last] = [
        ranges.reduce((a, b) => Math.min(a, b.fromBlock), Infinity),
        ranges.reduce((a, b) => Math.max(a, b.toBlock), 0),
      ];
      return `    ${name}: ${first} to ${last} in ${ranges.length} range(s), by ${[...new Set(ranges.flatMap(({ providers }) => providers))].join(', ')}`;
    }),
  ];
}
