import { describe, expect, it } from 'vitest';
import type { DomainEvent } from '../../../../src/domain/events/domain-event.ts';
import type { SessionEvent } from '../../../../src/domain/events/session-events.ts';
import type { NotificationId } from '../../../../src/domain/values/ids.ts';
import { coverageStream, deliveryStream, sessionStream } from '../../../../src/domain/values/streams.ts';
import { encodeEvent } from '../../../../src/runtime/commands/codec.ts';
import { collectIncident } from '../../../../src/features/sessions/incident/collect.ts';
import {
  parseIncident,
  type Incident,
  type IncidentSubject,
} from '../../../../src/features/sessions/incident/incident-file.ts';
import { replay, turnsOf } from '../../../../src/features/sessions/incident/replay.ts';
import { parseWhatIf, replayUnder } from '../../../../src/features/sessions/incident/what-if.ts';
import { sessionTable } from '../../../../src/features/shared/handlers/session-handler.ts';
import {
  decideSession,
  type SessionCommand,
  type SessionState,
} from '../../../../state-machines/checkout-session/session.decider.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';
import { createdFacts, depositFacts, EXPIRES_AT, CREATED_AT, SESSION_ID } from '../../../support/session-facts.ts';

const NOTIFICATION = 'evt_1800000000000000001' as NotificationId;

/** An event log in which commands happened, each at its second; what they decide is what is recorded. */
class Night {
  readonly store = new MemoryEventStore();
  #state = sessionTable.initial as SessionState;

  async say(atSec: number, command: SessionCommand, notificationId?: NotificationId): Promise<this> {
    const decision = decideSession(command, this.#state);
    if (!decision.ok) throw new Error(decision.refusal.message);
    this.#state = sessionTable.replay(decision.events, this.#state);
    for (const event of decision.events as SessionEvent[])
      await this.note(sessionStream(SESSION_ID), atSec, event, notificationId);
    return this;
  }

  async note(stream: string, atSec: number, event: DomainEvent, notificationId?: NotificationId): Promise<this> {
    const last = await this.store.lastOfStream(stream);
    const revision = (last?.revision ?? -1) + 1;
    const metadata = {
      correlationId: `request-${atSec}`,
      actor: 'test',
      prev: last?.hash ?? '',
      ...(notificationId !== undefined && { notificationId }),
    };
    const encoded = encodeEvent({ id: `${stream}-${revision}`, stream, revision, atMs: atSec * 1000, event, metadata });
    await this.store.append({ stream, expected: last ? last.revision : 'no-stream', events: [encoded] });
    return this;
  }

  async read(atSec: number, toBlock: number, providers: readonly string[]): Promise<this> {
    const data = {
      mode: 'test',
      network: 'ethereum',
      fromBlock: 90,
      toBlock,
      toBlockHash: 'h',
      toBlockTimeSec: atSec,
      providers,
      transfersSeen: 0,
    } as const;
    return this.note(coverageStream('test', 'ethereum'), atSec, { type: 'RangeScanned', data });
  }

  async incident(subject: IncidentSubject = { sessionId: SESSION_ID }, logLines: string[] = []): Promise<Incident> {
    const made = await collectIncident(this.store, {
      subject,
      configuration: { version: '1' },
      madeAtSec: CREATED_AT,
      logLines,
    });
    return parseIncident(JSON.stringify(made));
  }
}

const SECOND = CREATED_AT + 60;
const deposit = depositFacts({ amount: '9.70', blockNumber: 100, blockTimeSec: SECOND });
const option = createdFacts().paymentOptions[0]!;
const created = createdFacts({
  paymentOptions: [{ ...option, finality: { kind: 'confirmations', confirmations: 12 } }],
});
const { depositKey, blockNumber, blockHash, blockTimeSec } = deposit;
const rule = { kind: 'confirmations', confirmations: 12 } as const;
const confirm = { depositKey, rule, blockNumber, blockHash, blockTimeSec, headNumber: 111 };

/** 9.70 of 10 USDT came and became final; the session expired. */
async function underpaid(): Promise<Night> {
  const night = new Night();
  await night.say(CREATED_AT, { type: 'CreateSession', data: created });
  await night.say(SECOND, { type: 'RecordDeposit', facts: deposit }, NOTIFICATION);
  await night.read(SECOND + 20, 105, ['one.example']);
  await night.say(SECOND + 60, { type: 'ConfirmDeposit', data: confirm, nowSec: SECOND + 60, valuation: null });
  await night.read(SECOND + 90, 140, ['one.example']);
  return night.say(EXPIRES_AT + 5, {
    type: 'ExpireSession',
    nowSec: EXPIRES_AT + 5,
    scannedToSec: { ethereum: EXPIRES_AT + 4 },
  });
}

describe('an incident', () => {
  it('is replayed as it was decided, step by step with what was left', async () => {
    const { steps, endedAs } = replay(turnsOf((await (await underpaid()).incident()).sessions[0]!));
    expect(steps.map(({ command, agrees, standing }) => [command, agrees, standing.status, standing.received])).toEqual(
      [
        ['CreateSession', true, 'open', '0.00'],
        ['RecordDeposit', true, 'processing', '0.00'],
        ['ConfirmDeposit', true, 'open', '9.70'],
        ['ExpireSession', true, 'expired', '9.70'],
      ],
    );
    expect(endedAs).toBe('expired');
  });

  it('says where this version decides differently from the record', async () => {
    const night = new Night();
    await night.say(CREATED_AT, { type: 'CreateSession', data: created });
    await night.note(sessionStream(SESSION_ID), SECOND, {
      type: 'DepositDetected',
      data: { ...deposit, kind: 'dust' },
    });
    const { steps } = replay(turnsOf((await night.incident()).sessions[0]!));
    expect(steps.map(({ agrees }) => agrees)).toEqual([true, false]);
  });

  it('contains the outcome of its webhooks without body or URL, and the log lines about it', async () => {
    const night = await underpaid();
    const about = { notificationId: NOTIFICATION, merchantId: created.merchantId };
    const body = '{"secret":"body"}';
    const scheduled = {
      ...about,
      mode: 'test' as const,
      endpointId: 'whe_1',
      eventType: 'payment.processing',
      sessionId: SESSION_ID,
      body,
      scheduledAtMs: 1,
    };
    await night.note(deliveryStream(NOTIFICATION), SECOND, { type: 'DeliveryScheduled', data: scheduled });
    const lines = [
      `{"msg":"seen","session":"${SESSION_ID}"}`,
      '{"msg":"another"}',
      `no JSON ${SESSION_ID}`,
      `{"requestId":"request-${CREATED_AT}"}`,
    ];
    const incident = await night.incident(undefined, lines);
    expect(incident.logs).toEqual([{ msg: 'seen', session: SESSION_ID }, { requestId: `request-${CREATED_AT}` }]);
    expect(incident.sessions[0]!.deliveries.map(({ type }) => type)).toEqual(['DeliveryScheduled']);
    expect(JSON.stringify(incident)).not.toContain('body');
  });

  it('of a time range has every session in which something happened then, in full', async () => {
    const night = await underpaid();
    const incident = await night.incident({ fromSec: SECOND + 60, toSec: SECOND + 60 });
    expect(incident.sessions.map(({ events }) => events.length)).toEqual([4]);
    await expect(night.incident({ fromSec: SECOND + 61, toSec: SECOND + 62 })).rejects.toThrow(/nothing happened/);
  });

  it('is refused if an event was changed, left out or moved', async () => {
    const incident = await (await underpaid()).incident();
    const [session] = incident.sessions;
    const events = session!.events;
    const broken = [
      events.map((event) =>
        event.type === 'DepositDetected' ? { ...event, data: event.data.replace('9.70', '9.90') } : event,
      ),
      events.filter((_, index) => index !== 1),
      [...events].reverse(),
    ];
    for (const other of broken)
      expect(() => parseIncident(JSON.stringify({ ...incident, sessions: [{ ...session, events: other }] }))).toThrow(
        /differs from the record/,
      );
    expect(() => parseIncident('{')).toThrow(/not JSON/);
    expect(() => parseIncident('{"format":"other"}')).toThrow(/format/);
  });
});

describe('another policy', () => {
  const under = async (night: Night, ...texts: string[]) => {
    const incident = await night.incident();
    return replayUnder(parseWhatIf(texts), incident.sessions[0]!, incident.coverage);
  };

  it('with more tolerance pays, and nothing expires then', async () => {
    const other = await under(await underpaid(), 'tolerance=0.50');
    expect([other.endedAs, other.paidAtSec]).toEqual(['paid', SECOND + 60]);
    expect(other.steps.at(-1)!.outcome).toEqual(['Nothing: the session is paid.']);
    expect((await under(await underpaid(), 'tolerance=0.20')).endedAs).toBe('expired');
  });

  it('with fewer confirmations counts as soon as the chain was known to be that far, and not if it never was', async () => {
    const early = await under(await underpaid(), 'confirmations=6', 'tolerance=1');
    expect(early.paidAtSec).toBe(SECOND + 20);
    expect((await under(await underpaid(), 'confirmations=30', 'tolerance=1')).paidAtSec).toBe(SECOND + 90);
    const never = await under(await underpaid(), 'confirmations=60', 'tolerance=1');
    expect([never.paidAtSec, never.steps.some(({ note }) => note?.includes('block 159'))]).toEqual([null, true]);
  });

  it('with fewer confirmations would have counted what the chain reverted', async () => {
    const night = new Night();
    await night.say(CREATED_AT, { type: 'CreateSession', data: created });
    await night.say(SECOND, { type: 'RecordDeposit', facts: { ...deposit, amount: '10.00' } });
    await night.read(SECOND + 20, 105, ['one.example']);
    await night.say(SECOND + 30, {
      type: 'RevertDeposit',
      depositKey,
      reason: 'reorg',
      headNumber: 106,
      revertedAtSec: SECOND + 30,
    });
    expect(replay(turnsOf((await night.incident()).sessions[0]!)).endedAs).toBe('open');
    const other = await under(night, 'confirmations=3');
    expect([other.endedAs, other.paidAtSec, other.standing.received]).toEqual(['paid', SECOND + 20, '0.00']);
    expect((await under(night, 'confirmations=20')).paidAtSec).toBeNull();
  });

  it('with a second source waits if only one provider read the block', async () => {
    const alone = await under(await underpaid(), 'second_source=5', 'tolerance=1');
    expect([alone.paidAtSec, alone.steps[2]!.note]).toEqual([
      null,
      expect.stringContaining('was read by one.example, so it would wait'),
    ]);
    const night = await underpaid();
    await night.read(SECOND + 95, 141, ['two.example']);
    expect((await under(night, 'second_source=5', 'tolerance=1')).paidAtSec).toBe(SECOND + 60);
    expect((await under(await underpaid(), 'second_source=50', 'tolerance=1')).paidAtSec).toBe(SECOND + 60);
  });

  it('is refused with the name of the rule', () => {
    expect(() => parseWhatIf(['patience=1'])).toThrow(/patience is not one of tolerance, confirmations, second_source/);
    expect(() => parseWhatIf(['confirmations=0'])).toThrow(/confirmations must be/);
    expect(() => parseWhatIf(['tolerance'])).toThrow(/tolerance must be/);
  });
});
