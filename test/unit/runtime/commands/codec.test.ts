import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { DomainEvent, DomainEventType } from '../../../../src/domain/events/domain-event.ts';
import type { EventMetadata } from '../../../../src/domain/events/envelope.ts';
import type { RecordedEvent } from '../../../../src/ports/event-log/event-store.ts';
import { decodeEvent, encodeEvent, hashRecorded, UnknownEvent } from '../../../../src/runtime/commands/codec.ts';
import { CURRENT_VERSION, EVENT_TYPES } from '../../../../src/runtime/commands/event-versions.ts';
import { SAMPLES } from '../../../fixtures/events/samples.ts';
import { REPOSITORY } from '../../../support/repository.ts';

const FOLDER = join(REPOSITORY, 'test/fixtures/events');
const METADATA: EventMetadata = {
  correlationId: '7d9f4e5c-0000-4000-8000-000000000001',
  actor: 'test',
  prev: 'a'.repeat(64),
};

const goldenPath = (type: string, version: number): string => join(FOLDER, `${type}.v${version}.json`);
const readGolden = (name: string): RecordedEvent =>
  JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as RecordedEvent;
const goldenNames = (): string[] => readdirSync(FOLDER).filter((name) => name.endsWith('.json'));

function encodeSample(type: DomainEventType): RecordedEvent {
  const place = { stream: 'golden-stream', revision: 1, atMs: 1_800_000_000_000 };
  const event = { type, data: SAMPLES[type] } as DomainEvent;
  const encoded = encodeEvent({ id: '00000000-0000-4000-8000-000000000001', ...place, event, metadata: METADATA });
  return { stream: place.stream, revision: place.revision, position: '1', ...encoded };
}

/**
 * New types and versions get their golden file once, by running this test with `WRITE_GOLDEN=1`; an existing file is
 * never rewritten.
 */
if (process.env.WRITE_GOLDEN === '1') {
  for (const type of EVENT_TYPES) {
    const path = goldenPath(type, CURRENT_VERSION[type]);
    if (!existsSync(path)) writeFileSync(path, `${JSON.stringify(encodeSample(type), null, 2)}\n`);
  }
}

describe('golden events', () => {
  test('every event type has a golden file for every version it was ever written in', () => {
    const expected = EVENT_TYPES.flatMap((type) =>
      Array.from({ length: CURRENT_VERSION[type] }, (_, index) => `${type}.v${index + 1}.json`),
    );
    expect(goldenNames().sort()).toEqual(expected.sort());
  });

  test.each(goldenNames())('%s decodes, and its hash is that of its text', (name) => {
    const recorded = readGolden(name);
    const decoded = decodeEvent(recorded);
    expect(`${decoded.event.type}.v${decoded.version}.json`).toBe(name);
    expect(decoded.event.data).toEqual(SAMPLES[decoded.event.type]);
    expect(decoded.metadata).toEqual(METADATA);
    expect(hashRecorded(recorded)).toBe(recorded.hash);
  });

  test.each(EVENT_TYPES)('%s is still written exactly as in the golden file of its version', (type) => {
    expect(encodeSample(type)).toEqual(readGolden(`${type}.v${CURRENT_VERSION[type]}.json`));
  });
});

describe('the codec', () => {
  test('hashes the canonical bytes: a JSON array that ends with the stored texts verbatim', () => {
    const recorded = encodeSample('MerchantRegistered');
    const head = JSON.stringify([
      recorded.stream,
      recorded.revision,
      recorded.id,
      recorded.type,
      recorded.version,
      recorded.atMs,
    ]).slice(0, -1);
    const bytes = Buffer.from(`${head},${recorded.data},${recorded.metadata}]`, 'utf8');
    expect(recorded.hash).toBe(createHash('sha256').update(bytes).digest('hex'));
  });

  test('a change of any stored part changes the hash', () => {
    const recorded = encodeSample('RefundRequested');
    const changes: Partial<RecordedEvent>[] = [
      { stream: 'other' },
      { revision: 1_000 },
      { id: 'other' },
      { type: 'RefundFailed' },
      { version: 2 },
      { atMs: 1 },
      { data: recorded.data.replace('5.00', '6.00') },
      { metadata: recorded.metadata.replace('test', 'text') },
    ];
    for (const change of changes) expect(hashRecorded({ ...recorded, ...change })).not.toBe(recorded.hash);
  });

  test('what it encodes it decodes to the same event, from memory and from the text', () => {
    for (const type of EVENT_TYPES) {
      const recorded = encodeSample(type);
      const decoded = decodeEvent(recorded);
      expect(decoded).toMatchObject({
        stream: 'golden-stream',
        position: '1',
        atMs: 1_800_000_000_000,
        version: CURRENT_VERSION[type],
      });
      expect(decoded.event).toEqual({ type, data: SAMPLES[type] });
      const read = decodeEvent({ ...recorded });
      expect(read).toStrictEqual(decoded);
      expect(read.event.data).not.toBe(decoded.event.data);
    }
  });

  test('a record under the hash of an event that was just written, but with another text, is read as it is', () => {
    const forgeries = (recorded: RecordedEvent): Partial<RecordedEvent>[] => [
      { data: recorded.data.replace('5.00', '6.00') },
      { metadata: recorded.metadata.replace('"test"', '"mallory"') },
    ];
    for (const index of [0, 1]) {
      const recorded = encodeSample('RefundRequested');
      const forged = { ...recorded, ...forgeries(recorded)[index] };
      const { event, metadata } = decodeEvent(forged);
      expect(event.data).toEqual(JSON.parse(forged.data));
      expect(metadata).toEqual(JSON.parse(forged.metadata));
    }
  });

  test('an event that is met again after very many others is read from its text', () => {
    const recorded = encodeSample('SessionPaid');
    for (let other = 0; other < 2_000; other += 1) {
      const event = { type: 'SessionPaid', data: SAMPLES.SessionPaid } as DomainEvent;
      encodeEvent({ id: 'other', stream: 'golden-stream', revision: other, atMs: 1, event, metadata: METADATA });
    }
    expect(decodeEvent(recorded).event).toEqual({ type: 'SessionPaid', data: SAMPLES.SessionPaid });
  });

  test.each([
    ['a type that was never written', { type: 'SessionTeleported' }],
    ['a name that every object has', { type: 'constructor' }],
    ['a version of the future', { version: 2 }],
    ['a version before the first', { version: 0 }],
  ])('refuses %s as unknown, naming the place', (_, change) => {
    const recorded = { ...encodeSample('SessionPaid'), ...change };
    expect(() => decodeEvent(recorded)).toThrow(UnknownEvent);
    expect(() => decodeEvent(recorded)).toThrow(/golden-stream/);
  });
});
