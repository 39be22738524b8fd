import { randomUUID } from 'node:crypto';
import { openSqliteEventStore } from '../../src/adapters/sqlite/event-log/event-store.ts';
import type { DomainEvent } from '../../src/domain/events/domain-event.ts';
import { encodeEvent } from '../../src/runtime/commands/codec.ts';
// @ts-expect-error the runner is plain JavaScript, since it also runs beside packages that are not installed here
import { serve } from './runner.mjs';

type Serve = (append: (stream: string, facts: object) => Promise<void>, close: () => Promise<void>) => void;

const store = await openSqliteEventStore({ dataDir: process.argv[2]! });

/** As the command handler does it: encode, hash with the stream's chain, append with `no-stream`, wait for the sync. */
async function append(stream: string, facts: object): Promise<void> {
  const event = { type: 'SessionCreated', data: facts } as DomainEvent;
  const metadata = { correlationId: randomUUID(), actor: 'bench', prev: '' };
  const encoded = encodeEvent({ id: randomUUID(), stream, revision: 0, atMs: Date.now(), event, metadata });
  const result = await store.append({ stream, expected: 'no-stream', events: [encoded] });
  if (!result.ok) throw new Error('the stream exists');
}

(serve as Serve)(append, () => store.close());
