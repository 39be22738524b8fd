import { expect, it } from 'vitest';
import { DEPOSIT_WALLETS } from '../../../src/domain/money/ledger.ts';
import type { SessionId } from '../../../src/domain/values/ids.ts';
import { nativeHeldBy } from '../../../src/features/treasury/native-held.ts';
import { adminCommands, type AdminParts } from '../../../src/operator/merchants/merchants.ts';
import { PayoutStage } from '../../support/payout-stage.ts';
import { addressOfSession, SESSION_ID } from '../../support/session-facts.ts';

it('a payment is explained with what every provider said to the newest broadcast of its refund', async () => {
  const stage = new PayoutStage();
  await stage.paidSession();
  await stage.requestRefund('re_a', 1);
  const parts = {
    ...{ core: {}, store: stage.store, clock: {}, random: {}, testWallet: null, projections: {} },
    waitingFor: (id: string) => stage.executor.waiting.find(({ refundId }) => refundId === id) ?? null,
  } as unknown as AdminParts;
  const explained = () => adminCommands(parts)['session.explain']!({ session_id: SESSION_ID });
  await stage.executor.round();
  expect(await explained()).not.toHaveProperty('waiting');
  stage.broadcastAnswers = [{ provider: 'one', kind: 'refused', text: 'SERVER_BUSY: Server busy.' }];
  await stage.executor.round();
  expect(await explained()).toMatchObject({
    waiting: [{ refund: 're_a', reason: 'broadcast_refused', detail: 'one refuses it: SERVER_BUSY: Server busy.' }],
  });
  stage.broadcastAnswers = [{ provider: 'one', kind: 'taken', text: 'taken' }];
  await stage.executor.round();
  expect(await explained()).not.toHaveProperty('waiting');
});

it('a payment is explained with native coin that came to its address, which the books have and no event of it names', async () => {
  const stage = new PayoutStage();
  await stage.paidSession();
  const address = addressOfSession(SESSION_ID);
  const rows = new Map([[`test/${DEPOSIT_WALLETS}/ethereum/ETH/${address}`, { balance: '0.25' }]]);
  const parts = {
    ...{ core: {}, store: stage.store, clock: {}, random: {}, testWallet: null, projections: {} },
    nativeHeld: (id: SessionId) =>
      nativeHeldBy(
        {
          sessions: stage.sessions,
          readModel: { get: async (_: string, key: string) => rows.get(key) ?? null } as never,
        },
        id,
      ),
  } as unknown as AdminParts;
  const explained = () => adminCommands(parts)['session.explain']!({ session_id: SESSION_ID });
  expect(await explained()).toMatchObject({
    native_coin: [{ network: 'ethereum', address, coin: 'ETH', amount: '0.25' }],
  });
  rows.clear();
  expect(await explained()).not.toHaveProperty('native_coin');
});
