import { describe, expect, it } from 'vitest';
import type { JournalPlace } from '../../../../src/domain/events/transaction-draft.ts';
import type { SignerStatus } from '../../../../src/ports/outgoing/signer.ts';
import { JournalCheck } from '../../../../src/features/payouts/journal-check.ts';
import { initialTreasuryContext, type TreasuryContext } from '../../../../state-machines/treasury/treasury.state.ts';

const place = (seq: number) => ({ seq, hash: String(seq).padStart(64, 'a') });
const logAt = (seq: number | null, more: Partial<TreasuryContext> = {}): TreasuryContext => ({
  ...{ ...initialTreasuryContext, journal: seq === null ? null : place(seq) },
  ...more,
});
const neverStopped = { stop: () => Promise.reject(new Error('nobody may stop it for this')) };
/** One whose journal has signed up to that entry, and holds every entry before it. */
const signerAt = (seq: number | null, holds: (logSeq: number) => boolean = (logSeq) => logSeq <= (seq ?? 0)) => ({
  ...neverStopped,
  status: async () =>
    ({ lastPlaces: seq === null ? {} : { bsc: place(seq) }, stopped: false }) as unknown as SignerStatus,
  signedAfter: async (_mode: string, _network: string, logPlace: JournalPlace | null) =>
    logPlace === null || holds(logPlace.seq)
      ? { payments: [] }
      : ({ ok: false, kind: 'stopped', code: 'journal_disagrees', message: 'another one' } as const),
});
const look = (seq: number | null, ...log: TreasuryContext[]): Promise<string | null> => {
  const answers = [...log];
  return new JournalCheck(signerAt(seq)).look('live', 'bsc', async () =>
    answers.length > 1 ? answers.shift()! : answers[0]!,
  );
};

describe('journal and event log', () => {
  it.each([
    [null, null],
    [3, 3],
  ])('agree at entries %s and %s', async (signer, log) => expect(await look(signer, logAt(log))).toBeNull());

  it.each([
    [5, 3, /entry 5 of bsc and the event log at 3: it signed transactions that this event log does not know/],
    [2, null, /entry 2 of bsc and the event log at 0: it signed transactions that this event log does not know/],
  ])('disagree at entries %s and %s before anything is asked to be paid', async (signer, log, sentence) =>
    expect(await look(signer, logAt(log))).toMatch(sentence),
  );

  it('are not compared while something is signed, or was meanwhile', async () => {
    const open = { legId: 're_1-1' } as unknown as TreasuryContext['open'];
    expect(await look(4, logAt(3, { open }))).toBeNull();
    expect(await look(4, logAt(3), logAt(3, { open }))).toBeNull();
    expect(await look(4, logAt(3), logAt(4))).toBeNull();
  });

  it('are not compared while the signer is unavailable or refuses', async () => {
    const away = new JournalCheck({ ...signerAt(2), status: () => Promise.reject(new Error('away')) });
    expect(await away.look('live', 'bsc', async () => logAt(3))).toBeNull();
    const refuses = new JournalCheck({
      ...signerAt(2),
      status: async () => ({ ok: false }) as unknown as SignerStatus,
    });
    expect(await refuses.look('live', 'bsc', async () => logAt(3))).toBeNull();
    const leaves = new JournalCheck({ ...signerAt(2), signedAfter: () => Promise.reject(new Error('away')) });
    expect(await leaves.look('live', 'bsc', async () => logAt(3))).toBeNull();
    for (const check of [away, refuses, leaves]) expect(check.isCompared('live', 'bsc')).toBe(false);
  });

  it('count as compared once the signer has answered, and are compared as soon as it can', async () => {
    const signer = signerAt(5);
    let isAway = true;
    const signedAfter: typeof signer.signedAfter = (...asked) =>
      isAway ? Promise.reject(new Error('away')) : signer.signedAfter(...asked);
    const check = new JournalCheck({ ...signer, signedAfter });
    expect(await check.look('live', 'bsc', async () => logAt(3))).toBeNull();
    isAway = false;
    expect(await check.look('live', 'bsc', async () => logAt(3))).toMatch(/does not know/);
    expect(check.isCompared('live', 'bsc')).toBe(true);
    expect(check.isCompared('live', 'tron')).toBe(false);
  });

  it.each([
    ['stops a signer that has none though this event log has paid, once', null, 5, ['live']],
    ['stops one that began anew and has signed since, once', 7, 5, ['live']],
    ['stops one whose journal is an older copy, once', 3, 5, ['live']],
    ['leaves the signer of a new installation alone', null, null, []],
  ] as const)('%s', async (_, signed, log, expected) => {
    const stopped: string[] = [];
    const signer = {
      ...signerAt(signed, () => false),
      status: async () =>
        ({
          lastPlaces: signed === null ? {} : { bsc: place(signed) },
          stopped: stopped.length > 0,
        }) as unknown as SignerStatus,
      stop: async (mode: string) => (stopped.push(mode), {} as SignerStatus),
    };
    const check = new JournalCheck(signer, 0);
    for (let round = 0; round < 3; round += 1) {
      const fault = await check.look('live', 'bsc', async () => logAt(log));
      if (log === null) expect(fault).toBeNull();
      else
        expect(fault).toMatch(/^the signer has no journal of what this event log has paid on bsc, up to entry 5, so/);
    }
    expect(stopped).toEqual(expected);
  });

  it('of one treasury do not affect another', async () => {
    const check = new JournalCheck(signerAt(5));
    expect(await check.look('live', 'bsc', async () => logAt(3))).not.toBeNull();
    expect(await check.look('live', 'tron', async () => logAt(null))).toBeNull();
  });

  it('agree again once the newer event log is back', async () => {
    let log = logAt(3);
    const check = new JournalCheck(signerAt(5), 0);
    expect(await check.look('live', 'bsc', async () => log)).not.toBeNull();
    log = logAt(5);
    expect(await check.look('live', 'bsc', async () => log)).toBeNull();
  });
});
