import { describe, expect, it, vi } from 'vitest';
import type { JournalPlace } from '../../../src/domain/events/transaction-draft.ts';
import { withSigner } from '../../crash/signer-scenarios.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const START_MS = 1_800_000_000_000;
const PIECES = 1_000;
const UNITS = 10;

describe('the signer', () => {
  it('keeps responding after an unexpected request', async () => {
    await withSigner(async (open, order) => {
      const signer = open(() => START_MS);
      await expect(signer.check({ ...order, amount: 'ten' })).rejects.toThrow();
      expect(await signer.check(order)).toEqual({ ok: true });
      return true;
    });
  });
});

describe('a payer who sent many small amounts', () => {
  it('is queried many at a time, so that the refunds of others wait for few responses', async () => {
    const PARTS = 200;
    let mostInFlight = 0;
    await withSigner(
      async (open, order) => {
        const parts = Array.from({ length: PARTS }, (_, index) => {
          const txHash = `0x${index.toString(16).padStart(64, '0')}`;
          return { ...order.deposits[0]!, txHash, depositKey: `ethereum:${txHash}:0` };
        });
        const amount = (PARTS * 100).toFixed(2);
        expect(await open(() => START_MS).check({ ...order, amount, deposits: parts })).toEqual({ ok: true });
        expect(mostInFlight).toBeGreaterThanOrEqual(8);
        return true;
      },
      {
        limits: { perTransaction: '1000000', perHour: '1000000', perDay: '1000000', approvalFrom: '1000000' },
        onAsked: (inFlight) => (mostInFlight = Math.max(mostInFlight, inFlight)),
      },
    );
  });
});

describe('the caps of the signer', () => {
  it('hold over a thousand small refunds, however they are spread and whatever the clock does', async () => {
    const signedAtMs: number[] = [];
    const refused = new Set<string>();
    await withSigner(
      async (open, _, request) => {
        let nowMs = START_MS;
        let trueMs = START_MS;
        let logPlace: JournalPlace | null = null;
        const signer = open(() => nowMs);
        for (let piece = 0; piece < PIECES; piece += 1) {
          trueMs += 5 * MINUTE_MS;
          // Each tenth time the clock is wrong by some hours, into the past.
          nowMs = piece % 10 === 9 ? trueMs - (piece % 7) * HOUR_MS : trueMs;
          const answer = await signer.sign(
            request(
              { id: `re_${piece}-1`, amount: '0.10', refund: { sessionId: `cs_${piece}`, refundId: 're_1' } },
              { logPlace },
              signedAtMs.length,
            ),
          );
          if (answer.ok) {
            logPlace = answer.journal;
            signedAtMs.push(trueMs);
          } else refused.add(answer.code);
        }
        return true;
      },
      { limits: { perHour: '0.60', perDay: '3.00' } },
    );
    const mostWithin = (ms: number): number =>
      Math.max(...signedAtMs.map((end) => signedAtMs.filter((atMs) => atMs > end - ms && atMs <= end).length));
    expect([...refused].sort()).toEqual(['daily_cap', 'hourly_cap']);
    expect(mostWithin(HOUR_MS) / UNITS).toBeLessThanOrEqual(0.6);
    expect(mostWithin(24 * HOUR_MS) / UNITS).toBeLessThanOrEqual(3);
    expect(mostWithin(24 * HOUR_MS) / UNITS).toBeGreaterThan(2.5);
  });

  it('are free again on time even after a clock a year ahead was corrected', async () => {
    await withSigner(async (open, _, request) => {
      let nowMs = START_MS + 365 * 24 * HOUR_MS;
      const signer = open(() => nowMs);
      const first = await signer.sign(request({ amount: '20.00' }));
      if (!first.ok) throw new Error(first.message);
      nowMs = START_MS;
      const next = () => signer.sign(request({ id: 're_2-1' }, { logPlace: first.journal }, 1));
      expect(await next()).toMatchObject({ ok: false, code: 'hourly_cap' });
      const passed = performance.now() + HOUR_MS;
      const monotonic = vi.spyOn(performance, 'now').mockImplementation(() => passed);
      try {
        expect(await next()).toMatchObject({ ok: true });
      } finally {
        monotonic.mockRestore();
      }
      return true;
    });
  });

  it('count payouts, too, not only their sum', async () => {
    await withSigner(
      async (open, _, request) => {
        const signer = open(() => START_MS);
        let logPlace: JournalPlace | null = null;
        const answers: string[] = [];
        expect(await signer.status('test')).toMatchObject({ caps: [{ usedInHour: '0.00', usedInDay: '0.00' }] });
        for (let piece = 0; piece < 5; piece += 1) {
          const answer = await signer.sign(request({ id: `re_${piece}-1`, amount: '0.01' }, { logPlace }, piece));
          answers.push(answer.ok ? 'signed' : answer.code);
          if (answer.ok) logPlace = answer.journal;
        }
        expect(answers.slice(0, 3)).toEqual(['signed', 'signed', 'signed']);
        expect(new Set(answers.slice(3)).size).toBe(1);
        expect(answers[3]).not.toBe('signed');
        expect(await signer.status('test')).toMatchObject({
          caps: [{ coin: 'USDT', usedInHour: '0.03', usedInDay: '0.03' }],
        });
        return true;
      },
      { payoutsPerHour: 3 },
    );
  });
});
