import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PersonalKeysFile } from '../adapters/sqlite/event-log/personal-keys-file.ts';
import type { HealthFact } from '../observability/health.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventStore, RecordedEvent } from '../ports/event-log/event-store.ts';
import type { Log } from '../ports/log.ts';
import type { ObjectStore } from '../ports/event-log/object-store.ts';
import { dataOf } from '../runtime/commands/codec.ts';
import { messageOf } from '../runtime/util/message-of.ts';
import { Recurring } from '../runtime/util/recurring.ts';
import type { KeyList } from '../runtime/cryptography/sealing.ts';
import { writePrivate } from '../runtime/files/private-file.ts';
import { OF_DATA, SignerFiles, WholeFiles } from './ship-files.ts';
import {
  demandAllObjects,
  endIn,
  SHIPPED_END,
  SHIPPED_LOG,
  shippedSalt,
  SHIPPED_SALTS,
  type ShippedEnd,
} from './shipped-end.ts';
import { ShippedLines, type NumberedLine } from './shipped-lines.ts';
import { newMark, objectsBeside, resealed, SHIPPED_MARK } from './shipped-mark.ts';
import { must } from '../domain/values/must.ts';

export interface LogShippingParts {
  readonly objects: ObjectStore;
  /** The first one seals the key of the shipping place. */
  readonly keys: KeyList;
  readonly store: Pick<EventStore, 'readAll' | 'head'>;
  readonly dataDir: string;
  readonly signerDirectory: string;
  readonly everyMs: number;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'error'>;
}

interface Opened {
  readonly mark: Buffer;
  /** Authenticated; verifies before a round's first write that the place is still as this process left it. */
  readonly objects: ObjectStore;
  readonly log: ShippedLines;
  readonly salts: ShippedLines;
  readonly signer: SignerFiles;
  readonly data: WholeFiles;
  /** The content of `end`; null before there is one. */
  noted: string | null;
}

const PAGE = 1_000;
const SALTS = 5_000;
/** Interval of verifying that everything shipped still exists. */
const COUNTED_EVERY_MS = 3_600_000;
/** File in the data directory that names the place to which this log is shipped. */
const BEGAN = 'log-shipped-to';
const notOwn = (name: string): string =>
  `${name} is not what this service left there: another service ships to the same place`;
const LOST_MARK = `it holds no ${SHIPPED_MARK} any more: it was emptied, or is not mounted`;
/** Rounds without an attempt after a failure, so that a lasting fault is not retried constantly. */
const ROUNDS_AFTER_FAILURE = 5;

/**
 * Ships the contents of a backup to a place outside this machine as they come about, so that a lost disk loses only
 * seconds.
 */
export class LogShipping {
  readonly #parts: LogShippingParts;
  readonly #keys: PersonalKeysFile;
  readonly #rounds: Recurring;
  readonly #startedMs: number;
  #opened: Opened | null = null;
  #shippedEvents: number | null = null;
  /** Whether this round has found the place as this process left it. */
  #isOwn = false;
  #countedMs = 0;
  /** Salts up to this number were shipped, or erased since. */
  #saltsEnd = 0;
  #fault: string | null = null;
  #resting = 0;

  constructor(parts: LogShippingParts) {
    this.#parts = parts;
    this.#keys = new PersonalKeysFile(parts.dataDir);
    this.#startedMs = parts.clock.nowMs();
    this.#rounds = new Recurring(
      () => this.#round(),
      parts.everyMs,
      () => undefined,
    );
  }

  start(): void {
    this.#rounds.start();
  }

  /** Ships the remainder first, if the place answers. */
  async close(): Promise<void> {
    await this.#rounds.close();
    if (this.#fault === null) await this.#round();
    this.#keys.close();
  }

  /** Age of the oldest event that is not shipped. */
  async ageSec(): Promise<number> {
    const { store, clock } = this.#parts;
    const shipped = this.#shippedEvents;
    if (shipped === null) return Math.max(0, clock.nowMs() - this.#startedMs) / 1000;
    const [waiting] = await store.readAll({ after: String(shipped), limit: 1 });
    return waiting ? Math.max(0, clock.nowMs() - waiting.atMs) / 1000 : 0;
  }

  health(): readonly HealthFact[] {
    const { place } = this.#parts.objects;
    if (this.#fault !== null)
      return [{ name: 'log-shipping', state: 'degraded', detail: `nothing is shipped to ${place}: ${this.#fault}` }];
    return [{ name: 'log-shipping', state: 'ok', detail: `${this.#shippedEvents ?? 0} events are in ${place}` }];
  }

  /** Never rejects. */
  async #round(): Promise<void> {
    if (this.#resting > 0) return void (this.#resting -= 1);
    const { log, objects } = this.#parts;
    try {
      await this.#ship();
      if (this.#fault !== null) log.info({ place: objects.place }, 'the event log is shipped again');
      this.#fault = null;
    } catch (error) {
      const fault = messageOf(error);
      if (this.#fault !== fault) log.error({ place: objects.place, fault }, 'the event log cannot be shipped');
      this.#fault = fault;
      this.#resting = ROUNDS_AFTER_FAILURE;
      // The state of the place is unknown: a request without an answer may have been executed, or may still be.
      this.#opened = null;
    }
  }

  async #demandOwn(): Promise<void> {
    if (this.#isOwn || !this.#opened) return;
    const { objects, mark, noted } = this.#opened;
    const found = await this.#parts.objects.get(SHIPPED_MARK);
    if (found === null) throw new Error(LOST_MARK);
    if (!found.equals(mark)) throw new Error(notOwn(SHIPPED_MARK));
    const end = (await objects.get(SHIPPED_END))?.toString() ?? null;
    if (end !== noted) throw new Error(notOwn(SHIPPED_END));
    this.#isOwn = true;
  }

  /**
   * What events need is shipped before them, and so is the journal: a signer refuses a journal older than the event
   * log. Whenever shipping is interrupted, the place can therefore be restored.
   */
  async #ship(): Promise<void> {
    const { store, dataDir } = this.#parts;
    this.#isOwn = false;
    this.#opened ??= await this.#open();
    const { log, salts, signer, data } = this.#opened;
    this.#shippedEvents = log.end;
    await this.#count(this.#opened);
    const head = Number((await store.head()) ?? 0);
    await data.send(join(dataDir, OF_DATA), `data/${OF_DATA}`);
    await signer.send();
    if (head <= log.end) return;
    await this.#sendSalts(salts);
    while (log.end < head) {
      const page = await store.readAll({
        after: log.end === 0 ? null : String(log.end),
        limit: Math.min(PAGE, head - log.end),
      });
      if (page.length === 0) break;
      const forgotten = page.flatMap(forgottenIn);
      // Before the event that records it; otherwise a restart would not repeat it.
      if (forgotten.length > 0)
        await salts.remove((text) => forgotten.includes(shippedSalt.parse(JSON.parse(text)).subject));
      await log.add(page.map(lineOf));
      await this.#noteEnd(must(page.at(-1)), this.#opened);
      this.#shippedEvents = log.end;
    }
  }

  async #count({ objects, noted }: Opened): Promise<void> {
    const { clock } = this.#parts;
    if (noted === null || clock.nowMs() - this.#countedMs < COUNTED_EVERY_MS) return;
    await this.#demandOwn();
    await demandAllObjects(objects, endIn(noted, objects.place));
    this.#countedMs = clock.nowMs();
  }

  async #open(): Promise<Opened> {
    const { store, keys, signerDirectory } = this.#parts;
    const mark = await this.#demandMark();
    const authentic = objectsBeside(mark, this.#parts.objects, keys);
    const objects: ObjectStore = {
      ...authentic,
      put: async (name, bytes) => {
        await this.#demandOwn();
        await authentic.put(name, bytes);
      },
    };
    const noted = (await objects.get(SHIPPED_END))?.toString() ?? null;
    const end = noted === null ? null : endIn(noted, objects.place);
    if (end) await demandAllObjects(objects, end);
    const log = await ShippedLines.open(objects, SHIPPED_LOG);
    const salts = await ShippedLines.open(objects, SHIPPED_SALTS);
    if (end && end.events > log.end)
      throw new Error(`it lacks events from ${log.end + 1} to ${end.events}, which were shipped: objects are missing`);
    if (log.last) {
      const [own] = await store.readAll({ after: log.end === 1 ? null : String(log.end - 1), limit: 1 });
      if (!own || lineOf(own).text !== log.last.text)
        throw new Error(
          `it holds ${log.end} events that this event log does not continue: they are newer, or of another installation. ` +
            'Restore from there, or set LOG_SHIPPING_TO to another destination',
        );
    }
    this.#saltsEnd = salts.end;
    this.#countedMs = this.#parts.clock.nowMs();
    return {
      ...{ mark, objects, log, salts, noted },
      signer: new SignerFiles(objects, signerDirectory),
      data: new WholeFiles(objects),
    };
  }

  async #sendSalts(salts: ShippedLines): Promise<void> {
    for (
      let found = this.#keys.after(this.#saltsEnd, SALTS);
      found.length > 0;
      found = this.#keys.after(this.#saltsEnd, SALTS)
    ) {
      await salts.add(
        found.map(({ number, subject, salt }) => ({
          number,
          text: JSON.stringify({ subject, salt: Buffer.from(salt).toString('base64') }),
        })),
      );
      this.#saltsEnd = must(found.at(-1)).number;
    }
  }

  /** A place that was used by this log and is empty now may be a different one, for example if a mount is missing. */
  async #demandMark(): Promise<Buffer> {
    const { objects, keys, dataDir, clock } = this.#parts;
    const began = join(dataDir, BEGAN);
    const there = await objects.get(SHIPPED_MARK);
    if (there === null) {
      if (existsSync(began) && readFileSync(began, 'utf8') === objects.place)
        throw new Error(`${LOST_MARK}. Only to start shipping from the beginning, remove ${began}`);
      if ((await objects.list('')).length > 0)
        throw new Error('the destination has other contents: set LOG_SHIPPING_TO to an empty one');
    }
    const wanted = there ? resealed(there, objects, keys) : newMark(keys, clock.nowMs());
    if (wanted) await objects.put(SHIPPED_MARK, wanted);
    if (!existsSync(began) || readFileSync(began, 'utf8') !== objects.place) writePrivate(began, objects.place);
    return must(wanted ?? there);
  }

  async #noteEnd({ position, atMs }: RecordedEvent, opened: Opened): Promise<void> {
    const end: ShippedEnd = {
      ...{ format: 1, events: Number(position), last_event_at: new Date(atMs).toISOString() },
      shipped_at: new Date(this.#parts.clock.nowMs()).toISOString(),
      without_signer: opened.signer.isReadable()
        ? null
        : `${this.#parts.signerDirectory} (SIGNER_JOURNAL_DIR) belongs to another user`,
      log: opened.log.inventory(),
    };
    const bytes = jsonBytes(end);
    await opened.objects.put(SHIPPED_END, bytes);
    opened.noted = bytes.toString();
  }
}

const lineOf = ({
  position,
  stream,
  revision,
  id,
  type,
  version,
  atMs,
  data,
  metadata,
  hash,
}: RecordedEvent): NumberedLine => ({
  number: Number(position),
  text: JSON.stringify({ stream, revision, id, type, version, atMs, data, metadata, hash }),
});

/** Sessions whose personal data is erased. */
function forgottenIn(event: RecordedEvent): string[] {
  if (event.type !== 'OperatorActed') return [];
  const { act, subject } = dataOf(event, 'OperatorActed');
  return act === 'session.forget' && subject !== null ? [subject] : [];
}

const jsonBytes = (value: object): Buffer => Buffer.from(`${JSON.stringify(value, null, 2)}\n`);
