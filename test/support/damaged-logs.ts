import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openSqliteEventStore } from '../../src/adapters/sqlite/event-log/event-store.ts';
import { PROJECTIONS } from '../../src/look-ups/projections.ts';
import { projectionId } from '../../src/runtime/projections/batch.ts';
import { appendRandomHistory, signNow } from './audited-log.ts';
import { exchanged, recomputed, rewrite, type Row } from './rewritten-log.ts';
import { eventually } from './running-sandbox.ts';
import { auditSignerOf, startServiceInProcess, type ServiceInProcess } from './service-in-process.ts';
import { SEAL_KEYS } from './test-keys.ts';
import { BY } from './by-operator.ts';

type Change = (rows: Row[]) => Row[];
export type Mutation = readonly [what: string, change: (dataDir: string) => void];

export interface GrownLogs {
  /** A data directory is the folder `data` in each: of a service that was closed, and of one that lost its power. */
  readonly closed: string;
  readonly running: string;
  readonly merchant: { readonly api_key: string; readonly api_secret: string };
}

/** What a service, a merchant and many sessions left behind, most of it signed. */
export async function growLogs(folder: string): Promise<GrownLogs> {
  const closed = join(folder, 'closed');
  const running = join(folder, 'running');
  const dataDir = join(closed, 'data');
  const store = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS });
  await appendRandomHistory(store);
  await store.close();
  const service = await startServiceInProcess(dataDir);
  const { merchants, people } = service.core;
  const registered = await merchants.registerMerchant(
    {
      name: 'Shop',
      mode: 'test',
      webhookUrl: 'http://127.0.0.1:8799/hook',
    },
    BY,
  );
  if (!registered.ok) throw new Error(registered.refusal.message);
  const { id } = registered.value;
  const done = [
    await merchants.setPolicy(id, { tolerance: '0.5' }, BY),
    await merchants.issueKey(id, {}, BY),
    await merchants.addDomain(id, { host: 'shop.example', name: 'Shop' }, BY),
    await people.invite('Owner', [{ role: 'operator', merchantId: null, untilSec: null }], {
      by: 'test',
      reason: 'test',
    }),
  ];
  const refused = done.find(({ ok }) => !ok);
  if (refused && !refused.ok) throw new Error(refused.refusal.message);
  // The service goes on writing, and what is not noted yet could be torn off without a trace.
  const head = async (): Promise<number> => Number(await service.store.head());
  const noted = (): { position: number } =>
    JSON.parse(readFileSync(join(dataDir, 'events.anchor.json'), 'utf8')) as { position: number };
  await eventually(
    'the note of where the log ended',
    async () => existsSync(join(dataDir, 'events.anchor.json')) && noted().position >= (await head()),
  );
  // As a power cut leaves it: the write-ahead file is there.
  cpSync(closed, running, { recursive: true });
  for (const name of ['events.db-shm', 'read-model.db-shm', 'stream-names.db-shm'])
    rmSync(join(running, 'data', name), { force: true });
  await service.close();
  const signed = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS });
  await signNow(signed, dataDir, auditSignerOf(dataDir));
  await signed.close();
  // Not under the checkpoint, as the newest events of every log, and the last of all: nobody is told of it, and nothing
  // signs after it.
  const last = await startServiceInProcess(dataDir, { signs: false });
  await last.core.merchants.addDomain(id, { host: 'last.example', name: 'Shop' }, BY);
  await eventually('the look-ups of all events', () => followedAll(last));
  await last.close();
  return { closed, running, merchant: registered.value };
}

async function followedAll({ store, readModel }: ServiceInProcess): Promise<boolean> {
  const head = Number(await store.head());
  const checkpoints = await Promise.all(
    PROJECTIONS.map((projection) => readModel.checkpoint(projectionId(projection))),
  );
  return checkpoints.some((position) => Number(position) === head);
}

const rewriting = (change: Change) => (dataDir: string) => rewrite(dataDir, change);
const refitted = (change: Change) => rewriting((rows) => recomputed(change(rows)));
const each =
  (type: string, change: (row: Row) => Row): Change =>
  (rows) => {
    if (!rows.some((row) => row.type === type)) throw new Error(`the log holds no ${type}`);
    return rows.map((row) => (row.type === type ? change(row) : row));
  };

/** One bit of the text, in the middle of it. */
function flipped(text: string): string {
  const bytes = Buffer.from(text);
  const middle = Math.floor(bytes.length / 2);
  bytes[middle]! ^= 1;
  return bytes.toString('latin1');
}

const BOOT_EVENTS = [
  'SecretGenerated',
  'AddressRangeLeased',
  'MerchantRegistered',
  'ApiKeyIssued',
  'WebhookEndpointSet',
  'PolicySet',
  'DomainAdded',
  'PersonInvited',
  'SessionCreated',
  'DepositDetected',
  'DepositConfirmed',
  'SessionPaid',
  'CheckpointSigned',
] as const;

/** Put at the end with every hash fitting, where no checkpoint covers them. */
const appended =
  (type: string, change: (row: Row) => Partial<Row> = () => ({})): Change =>
  (rows) => {
    const row = rows.find((one) => one.type === type)!;
    return [...rows, { ...row, id: `${row.id.slice(0, -4)}ffff`, ...change(row) }];
  };

const ANOTHER_SESSION = `cs_${'z'.repeat(32)}`;
function ofAnotherSession(data: string): Partial<Row> {
  const { sessionId } = JSON.parse(data) as { sessionId: string };
  return { stream: `session-${ANOTHER_SESSION}`, revision: 0, data: data.replaceAll(sessionId, ANOTHER_SESSION) };
}

const without =
  (index: (rows: readonly Row[]) => number): Change =>
  (rows) =>
    rows.filter((_, place) => place !== index(rows));
const at =
  (type: string) =>
  (rows: readonly Row[]): number =>
    rows.findIndex((row) => row.type === type);
const middle = (rows: readonly Row[]): number => Math.floor(rows.length / 2);
const cut =
  (by: (rows: readonly Row[]) => number): Change =>
  (rows) =>
    rows.slice(0, -by(rows));

function inFile(name: string, change: (bytes: Buffer) => Buffer) {
  return (dataDir: string): void => {
    const file = join(dataDir, name);
    writeFileSync(file, change(readFileSync(file)));
  };
}

export const PAGE = 8_192;
const withBit =
  (place: (bytes: Buffer) => number) =>
  (bytes: Buffer): Buffer => {
    const changed = Buffer.from(bytes);
    changed[place(bytes)]! ^= 1 << 3;
    return changed;
  };
const zeroed =
  (page: number) =>
  (bytes: Buffer): Buffer =>
    Buffer.from(bytes).fill(0, page * PAGE, (page + 1) * PAGE);

/** The signer's memory is gone too, so that only what was derived from the log tells. */
function forgetting(...names: string[]) {
  return (dataDir: string): void => {
    for (const name of names) rmSync(join(dataDir, name), { recursive: true, force: true });
  };
}

const both =
  (...changes: ((dataDir: string) => void)[]) =>
  (dataDir: string): void =>
    changes.forEach((change) => change(dataDir));

export const MUTATIONS: readonly Mutation[] = [
  ...BOOT_EVENTS.map((type): Mutation => [
    `one bit of ${type}`,
    rewriting(each(type, (row) => ({ ...row, data: flipped(row.data) }))),
  ]),
  ...BOOT_EVENTS.map((type): Mutation => [
    `one bit of ${type}, hashes made to fit`,
    refitted(each(type, (row) => ({ ...row, data: flipped(row.data) }))),
  ]),
  ['text that is no JSON in PolicySet', rewriting(each('PolicySet', (row) => ({ ...row, data: '{"policy":' })))],
  ['text that is no JSON in metadata', rewriting(each('ApiKeyIssued', (row) => ({ ...row, metadata: '{' })))],
  ['an unknown type', refitted(appended('PolicySet', () => ({ type: 'PolicyBroken' })))],
  ['a version from the future', refitted(appended('PolicySet', () => ({ version: 99 })))],
  ['a merchant registered twice', refitted(appended('MerchantRegistered'))],
  ['a person invited twice', refitted(appended('PersonInvited'))],
  ['an address of two sessions', refitted(appended('SessionCreated', ({ data }) => ofAnotherSession(data)))],
  ['a session created twice', refitted(appended('SessionCreated'))],
  ['a session paid twice', refitted(appended('SessionPaid'))],
  [
    'a webhook endpoint of nobody',
    refitted(appended('WebhookEndpointSet', () => ({ stream: 'merchant-mer_zzzzzzzzzzzzzzzzzzzz' }))),
  ],
  ['the last event cut off', rewriting(cut(() => 1))],
  ['the last five events cut off', rewriting(cut(() => 5))],
  ['half of the log cut off', rewriting(cut(middle))],
  ['all but one event cut off', rewriting((rows) => rows.slice(0, 1))],
  ['every event cut off', rewriting(() => [])],
  ['the last event cut off, unknown to the signer', both(rewriting(cut(() => 1)), forgetting('../signer'))],
  ['half of the log cut off, unknown to the signer', both(rewriting(cut(middle)), forgetting('../signer'))],
  [
    'two swapped events',
    rewriting((rows) => exchanged(rows, 4, 9).map((row, index) => ({ ...row, position: index + 1 }))),
  ],
  ['two swapped events, hashes made to fit', refitted((rows) => exchanged(rows, 4, 9))],
  [
    'a doubled event',
    rewriting((rows) => [...rows, { ...rows.at(-1)!, position: rows.length + 1, revision: rows.at(-1)!.revision + 1 }]),
  ],
  ['a doubled event, hashes made to fit', refitted((rows) => [...rows.slice(0, 10), rows[9]!, ...rows.slice(10)])],
  [
    'a stream that begins twice',
    rewriting((rows) => [...rows, { ...rows[0]!, position: rows.length + 1, stream_number: rows.length + 1 }]),
  ],
  ['a missing event', rewriting(without(middle))],
  ['a missing registration', rewriting(without(at('MerchantRegistered')))],
  ['a missing registration, hashes made to fit', refitted(without(at('MerchantRegistered')))],
  ['a missing secret', refitted((rows) => rows.filter(({ type }) => type !== 'SecretGenerated'))],
  [
    'a wrong stream revision',
    rewriting((rows) =>
      rows.map((row, index) => (index === rows.length - 1 ? { ...row, revision: row.revision + 7 } : row)),
    ),
  ],
  [
    'a wrong stream',
    rewriting((rows) =>
      rows.map((row, index) => (index === middle(rows) ? { ...row, stream: 'session-elsewhere' } : row)),
    ),
  ],
  [
    'a wrong hash',
    rewriting((rows) => rows.map((row, index) => (index === 3 ? { ...row, hash: '00'.repeat(32) } : row))),
  ],
  [
    'a wrong chain',
    rewriting((rows) => rows.map((row, index) => (index === 3 ? { ...row, chain: '00'.repeat(32) } : row))),
  ],
  [
    'a note of another end',
    inFile('events.anchor.json', () => Buffer.from(`{"position":3,"chain":"${'0'.repeat(64)}"}\n`)),
  ],
  [
    'a note of a later end',
    inFile('events.anchor.json', (bytes) => Buffer.from(bytes.toString().replace(/:(\d+)/, ':9$1'))),
  ],
  ['a page of zeros in the middle', inFile('events.db', (bytes) => zeroed(Math.floor(bytes.length / PAGE / 2))(bytes))],
  ['a page of zeros at the end', inFile('events.db', (bytes) => zeroed(bytes.length / PAGE - 1)(bytes))],
  [
    'a bit of a page header',
    inFile(
      'events.db',
      withBit((bytes) => Math.floor(bytes.length / PAGE / 2) * PAGE),
    ),
  ],
  [
    'a bit of the last page',
    inFile(
      'events.db',
      withBit((bytes) => bytes.length - PAGE),
    ),
  ],
];

/** Shares of the write-ahead file that are left. */
export const TORN = [0, 0.2, 0.5, 0.8, 0.99] as const;

/** How much the log holds, and up to where. */
export const countOf = (dataDir: string): number | string => {
  try {
    const db = new DatabaseSync(join(dataDir, 'events.db'), { readOnly: true });
    try {
      return JSON.stringify(
        db.prepare('SELECT count(*) AS count, max(position) AS last, max(id) AS id FROM events').get(),
      );
    } finally {
      db.close();
    }
  } catch (error) {
    return (error as Error).message;
  }
};
