import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DomainEvent } from '../../../../src/domain/events/domain-event.ts';
import { sessionStream } from '../../../../src/domain/values/streams.ts';
import { sessionTable } from '../../../../src/features/shared/handlers/session-handler.ts';
import { historyOf, sessionIdOf, steps } from '../../../support/random-history.ts';
import { recordedEvents, signedExport, verifiedAsSigned } from '../../../support/signed-export.ts';
import { REPOSITORY } from '../../../support/repository.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

/*
 * Whoever has the signer's key as well can make hashes, tree and signatures fit. Then it is the life cycles that tell
 * what never was: each history here would verify but for one event that its machine does not accept.
 */

const AT_MS = 1_800_000_000_000;
/** As it is stored, with what makes it another event. */
function golden(type: string, change: object = {}): DomainEvent {
  const { data } = JSON.parse(readFileSync(join(REPOSITORY, `test/fixtures/events/${type}.v1.json`), 'utf8')) as {
    data: string;
  };
  return { type, data: { ...(JSON.parse(data) as object), ...change } } as DomainEvent;
}

type Told = string | readonly [type: string, change: object];
const STRANGER = '0x9999999999999999999999999999999999999999';

/* Each: a stream, what happened in it, and the state that does not know the last event. */
const ILLEGAL: readonly (readonly [machine: string, stream: string, events: readonly Told[], state: string])[] = [
  ['a session', 'session-cs_a', ['SessionCreated', 'SessionPaid'], 'open'],
  ['a session', 'session-cs_a', ['SessionCreated', 'SessionCreated'], 'open'],
  ['a session', 'session-cs_a', ['SessionCreated', 'SessionCancelled', 'SessionExpired'], 'cancelled'],
  ['a session', 'session-cs_a', ['DepositDetected'], 'absent'],
  ['a refund', 'session-cs_a', ['SessionCreated', 'RefundRequested'], 'open'],
  [
    'a refund',
    'session-cs_a',
    ['SessionCreated', 'DepositDetected', 'DepositConfirmed', 'RefundRequested', 'RefundPayoutLanded'],
    'open',
  ],
  [
    'a refund',
    'session-cs_a',
    ['SessionCreated', 'DepositDetected', 'DepositConfirmed', 'RefundRequested', 'RefundCompleted'],
    'open',
  ],
  [
    'a merchant',
    'merchant-mer_a',
    ['MerchantRegistered', 'ApiKeyIssued', 'ApiKeyRevoked', 'ApiKeyRevoked'],
    'registered',
  ],
  ['a merchant', 'merchant-mer_a', ['MerchantRegistered', 'WebhookEndpointSuspended'], 'registered'],
  ['a merchant', 'merchant-mer_a', ['ApiKeyIssued'], 'absent'],
  ['a delivery', 'delivery-evt_1', ['DeliveryScheduled', ['DeliverySucceeded', { attempt: 1 }]], 'pending'],
  [
    'a delivery',
    'delivery-evt_1',
    ['DeliveryScheduled', 'DeliveryAttempted', ['DeliverySucceeded', { attempt: 1 }]],
    'pending',
  ],
  ['a delivery', 'delivery-evt_1', ['DeliveryScheduled', ['DeliveryAttempted', { attempt: 2 }]], 'pending'],
  ['the treasury', 'treasury-live-bsc', ['ReturnCompleted'], 'idle'],
  ['the treasury', 'treasury-live-bsc', ['WithdrawalRequested', ['WithdrawalApproved', { approver: 'ada' }]], 'idle'],
  ['the treasury', 'treasury-live-bsc', ['WithdrawalRequested', 'WithdrawalSigned'], 'idle'],
  ['the treasury', 'treasury-live-bsc', ['PayoutSequenceSigned'], 'idle'],
  ['a transfer', 'transfer-live-bsc:0x1:7', ['TransferAttachRequested'], 'absent'],
  ['a transfer', 'transfer-live-bsc:0x1:7', ['TransferRecorded', 'TransferAttached'], 'open'],
  [
    'a transfer',
    'transfer-live-bsc:0x1:7',
    ['TransferRecorded', ['TransferReturnRequested', { operation: 1, toAddress: STRANGER }]],
    'open',
  ],
  [
    'a transfer',
    'transfer-live-bsc:0x1:7',
    ['TransferRecorded', 'TransferAttachRequested', 'TransferAttached', 'TransferReturnRequested'],
    'attached',
  ],
];

const BEFORE = [['merchant-mer_b', golden('MerchantRegistered')]] as const;
const eventsOf = (told: readonly Told[]): DomainEvent[] =>
  told.map((one) => (typeof one === 'string' ? golden(one) : golden(...one)));

describe('a history whose hashes, tree and signature match', () => {
  it.each(ILLEGAL)('of %s (%s): %s is not legal in %s', async (_, stream, told, state) => {
    const events = eventsOf(told);
    const story = (of: readonly DomainEvent[]) =>
      recordedEvents([...BEFORE, ...of.map((event) => [stream, event] as const)], AT_MS);
    expect(await verifiedAsSigned(story(events.slice(0, -1)))).toMatchObject({ ok: true });
    const { ok, fault } = await verifiedAsSigned(story(events));
    const [place, revision] = [events.length + 1, events.length - 1];
    expect([ok, fault]).toEqual([
      false,
      `event ${place} (revision ${revision} of stream ${stream}): history is not legal: ${events.at(-1)!.type} is not legal in ${state}`,
    ]);
  });

  it('of several sessions is detected by any event that comes when it cannot', async () => {
    await fc.assert(
      fc.asyncProperty(steps.map(historyOf), fc.nat(), fc.nat(), async ({ entries }, at, which) => {
        fc.pre(entries.length > 0);
        const place = at % entries.length;
        const { session } = entries[place]!;
        const before = entries.slice(0, place).filter((entry) => entry.session === session);
        const state = sessionTable.replay(before.map(({ event }) => event));
        const candidates = entries.filter(({ event }) => sessionTable.next(state, event) === null);
        fc.pre(candidates.length > 0);
        const { event } = candidates[which % candidates.length]!;
        const told = [...entries.slice(0, place), { session, event }, ...entries.slice(place)];
        const recorded = recordedEvents(
          told.map((entry) => [sessionStream(sessionIdOf(entry.session)), entry.event] as const),
          AT_MS,
        );
        const where = `event ${place + 1} (revision ${before.length} of stream ${sessionStream(sessionIdOf(session))})`;
        const { fault } = await verifiedAsSigned(recorded);
        expect(fault).toBe(`${where}: history is not legal: ${event.type} is not legal in ${state.value}`);
      }),
      { numRuns: 30 },
    );
  });
});

describe('an address', () => {
  const created = (sessionId: string, change: object) =>
    [`session-${sessionId}`, golden('SessionCreated', { sessionId, ...change })] as const;
  const options = (network: string, address: string) => ({ paymentOptions: [{ network, address }] });

  it.each([
    ['in the same letters', options('ethereum', '0xAb'), options('ethereum', '0xAb'), '0xAb'],
    ['in other letters, on another network of the family', options('ethereum', '0xAb'), options('bsc', '0xaB'), '0xaB'],
  ])('that was assigned to two sessions, %s, is detected', async (_, first, second, address) => {
    const { ok, fault } = await verifiedAsSigned(
      recordedEvents([created('cs_a', first), created('cs_b', second)], AT_MS),
    );
    expect([ok, fault]).toEqual([
      false,
      `event 2 (revision 0 of stream session-cs_b): history is not legal: the address ${address} was given to session cs_a before`,
    ]);
  });

  it.each([
    ['of both modes', options('ethereum', '0xAb'), { ...options('ethereum', '0xAb'), mode: 'live' }],
    ['of TRON or Solana that differs by a letter’s case', options('solana', 'Ab'), options('solana', 'aB')],
  ])('%s is two addresses', async (_, first, second) => {
    const story = [created('cs_a', { mode: 'test', ...first }), created('cs_b', { mode: 'test', ...second })];
    expect(await verifiedAsSigned(recordedEvents(story, AT_MS))).toMatchObject({ ok: true });
  });
});

describe.skipIf(spawnSync('python3', ['--version']).status !== 0)('the verifier in Python', () => {
  async function verified(told: readonly Told[]): Promise<string> {
    const { lines, checkpoint, verifierKey } = signedExport(
      recordedEvents(
        eventsOf(told).map((event) => ['session-cs_a', event] as const),
        AT_MS,
      ),
    );
    const folder = temporaryFolder('verify');
    const [file, kept] = [join(folder, 'export.jsonl'), join(folder, 'checkpoint.txt')];
    writeFileSync(file, lines.map((line) => `${line}\n`).join(''));
    writeFileSync(kept, checkpoint);
    const args = [
      join(REPOSITORY, 'docs/verify/verify.py'),
      '--export',
      file,
      '--checkpoint',
      kept,
      '--key',
      verifierKey,
    ];
    return (await promisify(execFile)('python3', args).catch((error: { stdout: string }) => error)).stdout;
  }

  it.each([
    [['SessionCreated', 'SessionCancelled', 'SessionPaid'], 'cancelled'],
    [['SessionCreated', 'SessionCreated'], 'open'],
    [['SessionCreated', 'SessionExpired', 'SessionFailed'], 'expired'],
    [['DepositDetected'], 'absent'],
  ])('finds %s in a session', async (told, state) => {
    const place = told.length;
    expect(await verified(told)).toBe(
      `NOT VERIFIED: event ${place} (revision ${place - 1} of stream session-cs_a, ${told.at(-1)}): history is not legal in a session that is ${state}\n`,
    );
    expect(
      await verified(['SessionCreated', 'DepositDetected', 'SessionExpired', 'DepositConfirmed', 'SessionPaid']),
    ).toMatch(/^ok/);
  });
});
