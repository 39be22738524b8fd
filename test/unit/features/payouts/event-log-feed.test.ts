import { expect, it } from 'vitest';
import { nodeRandom } from '../../../../src/adapters/node/random.ts';
import { withEventLog } from '../../../../src/features/payouts/event-log-feed.ts';
import { appendNext } from '../../../../src/runtime/commands/append-next.ts';
import type { OutgoingSigner } from '../../../../src/ports/outgoing/signer.ts';
import type { ApprovalSigner } from '../../../../src/ports/signer/approvals.ts';
import type { HashedParts } from '../../../../src/domain/events/canonical-text.ts';
import { LedgerAccounts } from '../../../../src/signer/journal/ledger-accounts.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';
import { ManualClock } from '../../../support/price-feed.ts';

it('a signer that was started again is given the whole event log again before it judges', async () => {
  const store = new MemoryEventStore();
  const deps = { store, clock: new ManualClock(), random: nodeRandom };
  const write = (stream: string) =>
    appendNext(deps, {
      ...{ stream, last: null, actor: 'test' },
      event: { type: 'SecretGenerated', data: { purpose: stream, secretVersion: 1, sealedSecret: '' } },
    });
  let accounts = new LedgerAccounts();
  const sizes: number[] = [];
  const signer = {
    takeEvents: async (from: number, events: readonly HashedParts[]) => accounts.take(from, events),
    check: async () => (sizes.push(accounts.take(0, []).size), { ok: true }),
  } as unknown as OutgoingSigner & ApprovalSigner;
  const fed = withEventLog(signer, store);
  const settlement = { kind: 'settlement' } as Parameters<OutgoingSigner['check']>[0];
  await Promise.all(['a', 'b', 'c'].map(write));
  await fed.check(settlement);
  accounts = new LedgerAccounts();
  await write('d');
  await fed.check(settlement);
  expect(sizes).toEqual([3, 4]);
});
