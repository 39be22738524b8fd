import { expect, it } from 'vitest';
import { openSqliteEventStore } from '../../../../src/adapters/sqlite/event-log/event-store.ts';
import { AuditThread } from '../../../../src/composition/audit/thread.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

it('a thread that has ended vouches for nothing: payouts wait for one that looks', async () => {
  const dataDir = temporaryFolder('audit-thread');
  const store = await openSqliteEventStore({ dataDir });
  const sound = Promise.withResolvers<void>();
  const thread = new AuditThread(
    { dataDir, verifierKey: null, anchors: [] },
    { state: ({ integrity }) => integrity === 'sound' && sound.resolve(), error: (error) => sound.reject(error) },
  );
  try {
    await sound.promise;
    expect(thread.state.integrity).toBe('sound');
    await thread.stop();
    expect(thread.state.integrity).toBe('checking');
  } finally {
    await thread.stop();
    await store.close();
  }
});
