import { expect, it } from 'vitest';
import { createLogger } from '../../../src/observability/logger.ts';
import { logRecordedEvents } from '../../../src/observability/recorded-events.ts';
import { withLogContext } from '../../../src/runtime/util/log-context.ts';
import { MemoryEventStore } from '../../support/memory-event-store.ts';

function logging(level = 'info') {
  const lines: Record<string, unknown>[] = [];
  const log = createLogger(level, { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) });
  return { lines, log, store: logRecordedEvents(new MemoryEventStore(), log) };
}

const metadata = JSON.stringify({ correlationId: 'req_1', actor: 'merchant:mer_1', prev: '' });
const append = (stream: string, ...types: string[]) => ({
  ...{ stream, expected: 'no-stream' as const },
  events: types.map((type) => ({ id: `${stream}-${type}`, type, data: '{}', metadata, hash: '', atMs: 0, version: 1 })),
});

it('logs session, events, actor and correlation id of what was recorded', async () => {
  const { lines, store } = logging();
  await store.append(append('session-cs_1', 'DepositConfirmed', 'SessionPaid'));
  expect(lines).toMatchObject([
    {
      ...{ level: 'info', msg: 'events were recorded', session: 'cs_1', events: 'DepositConfirmed SessionPaid' },
      ...{ actor: 'merchant:mer_1', correlationId: 'req_1' },
    },
  ]);
});

it('logs the session of a webhook from the context of its delivery', async () => {
  const { lines, log, store } = logging();
  await withLogContext({ session: 'cs_1' }, async () => {
    await store.append(append('delivery-evt_1', 'DeliveryAttempted'));
    log.warn({}, 'later in the same work');
  });
  log.info({}, 'of no session');
  expect(lines.map(({ msg, session, notification }) => [msg, session, notification])).toEqual([
    ['events were recorded', 'cs_1', 'evt_1'],
    ['later in the same work', 'cs_1', undefined],
    ['of no session', undefined, undefined],
  ]);
});

it('logs nothing for what was not recorded, for other streams, or above the level info', async () => {
  const { lines, store } = logging();
  await store.append(append('session-cs_1', 'SessionCreated'));
  expect(await store.append(append('session-cs_1', 'SessionCancelled'))).toMatchObject({ ok: false });
  await store.append(append('coverage-live-bsc', 'RangeScanned'));
  expect(lines).toHaveLength(1);
  const quiet = logging('warn');
  await quiet.store.append(append('session-cs_1', 'SessionCreated'));
  expect(quiet.lines).toEqual([]);
});
