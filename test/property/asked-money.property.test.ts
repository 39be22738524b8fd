import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toSend } from '../../src/checkout/page/model.ts';
import type { DepositFacts } from '../../src/domain/events/session-events.ts';
import type { RefundId } from '../../src/domain/values/ids.ts';
import { amountOf, formatAmount } from '../../src/domain/money/money.ts';
import { sessionTable } from '../../src/features/shared/handlers/session-handler.ts';
import { sessionView } from '../../src/features/sessions/view.ts';
import {
  decideSession,
  type SessionCommand,
  type SessionState,
} from '../../state-machines/checkout-session/session.decider.ts';
import { held, pending } from '../../state-machines/checkout-session/session.state.ts';
import { createdFacts, depositFacts, EXPIRES_AT, refundCommand } from '../support/session-facts.ts';
import { runsOf } from '../support/runs.ts';

const DUE = amountOf('10.00');
const CENT = 10n ** 16n;

/** Around what is due and around the dust limit, down to the last unit of a token with 18 decimals. */
const units = fc.oneof(
  fc.bigInt({ min: 1n, max: 12n * 10n ** 18n }),
  fc.bigInt({ min: DUE - 2n * CENT, max: DUE + CENT }),
  fc.bigInt({ min: 1n, max: 2n * CENT }),
);

const transfer = fc
  .record({
    tx: fc.integer({ min: 1, max: 5 }),
    // TRON is not offered: the right coin on a network that pays nothing.
    network: fc.constantFrom('ethereum' as const, 'bsc' as const, 'tron' as const),
    units,
    payer: fc.constantFrom('0xA', '0xB', '0xStranger'),
  })
  .map(({ tx, network, units: amount, payer }) =>
    depositFacts({
      txHash: `0x${tx}`,
      network,
      amount: formatAmount(amount),
      fromAddress: payer,
      blockTimeSec: EXPIRES_AT - 5,
    }),
  );

const record = (facts: DepositFacts): SessionCommand => ({ type: 'RecordDeposit', facts });
const confirm = ({ depositKey, blockNumber, blockHash, blockTimeSec }: DepositFacts): SessionCommand => ({
  ...{ type: 'ConfirmDeposit', nowSec: EXPIRES_AT - 1, valuation: null },
  data: { depositKey, rule: { kind: 'finalized' }, blockNumber, blockHash, blockTimeSec, headNumber: 300 },
});

/** Transfers of whatever size, seen, final or lost again, and refunds of them that may fail. */
const commands = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: transfer.map((facts) => [record(facts)]) },
    { weight: 4, arbitrary: transfer.map((facts) => [record(facts), confirm(facts)]) },
    {
      weight: 1,
      arbitrary: transfer.map(({ depositKey }): SessionCommand[] => [
        { type: 'RevertDeposit', depositKey, reason: 'reorg', headNumber: 300, revertedAtSec: 1_800_000_500 },
      ]),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.integer({ min: 1, max: 3 }), fc.option(units))
        .map(([id, asked]): SessionCommand[] => [
          refundCommand({ refundId: `re_${id}` as RefundId, units: asked, nowSec: EXPIRES_AT - 1 }),
        ]),
    },
    {
      weight: 1,
      arbitrary: fc.integer({ min: 1, max: 3 }).map((id): SessionCommand[] => [
        {
          ...{ type: 'FailPayout', refundId: `re_${id}`, legId: `re_${id}-1`, reason: 'recipient_frozen' },
          ...{ networkFee: null, nowSec: EXPIRES_AT - 1, valuation: null },
        },
      ]),
    },
  ),
  { maxLength: 12 },
);

function after(state: SessionState, given: readonly SessionCommand[]): SessionState {
  return given.reduce((before, command) => {
    const decision = decideSession(command, before);
    return decision.ok ? sessionTable.replay(decision.events, before) : before;
  }, state);
}

const confirmations = ({ context }: SessionState): SessionCommand[] =>
  [...context.deposits].filter(({ status }) => status === 'detected').map(({ facts }) => confirm(facts));

describe('the amount that the page asks for', () => {
  it('pays the session when exactly that is sent, on any network, whatever happened before', () => {
    let asked = 0;
    let little = 0;
    fc.assert(
      fc.property(
        commands,
        fc.constantFrom('0.00', '0.004', '0.50'),
        fc.constantFrom('ethereum' as const, 'bsc' as const),
        (given, tolerance, network) => {
          const created = createdFacts({ policy: { tolerance, dustLimit: '0.01' } });
          const state = after(sessionTable.initial, [{ type: 'CreateSession', data: created }, ...given.flat()]);
          const asks = toSend(sessionView(state, null), EXPIRES_AT - 1);
          if (state.value === 'paid') return void expect(asks).toBeNull();
          if (asks === null)
            return void expect(held(state.context) + pending(state.context)).toBeGreaterThanOrEqual(
              DUE - amountOf(tolerance),
            );
          asked += 1;
          if (amountOf(asks) < CENT) little += 1;
          expect(asks).toMatch(/^\d+\.\d{2,6}$/);
          const answer = depositFacts({ txHash: '0xasked', network, amount: asks, blockTimeSec: EXPIRES_AT - 1 });
          const seen = after(state, [record(answer)]);
          expect(after(seen, confirmations(seen)).value).toBe('paid');
        },
      ),
      { numRuns: runsOf(1_000) },
    );
    expect(asked).toBeGreaterThan(0);
    expect(little).toBeGreaterThan(0);
  });

  it('is not changed by dust: only what completes the payment counts, however little', () => {
    fc.assert(
      fc.property(fc.array(fc.bigInt({ min: 1n, max: CENT - 1n }), { minLength: 1, maxLength: 8 }), (spam) => {
        const dust = spam.map((amount, index) =>
          depositFacts({ txHash: `0xspam${index}`, amount: formatAmount(amount), blockTimeSec: EXPIRES_AT - 5 }),
        );
        const create: SessionCommand = {
          type: 'CreateSession',
          data: createdFacts({ policy: { tolerance: '0.00', dustLimit: '0.01' } }),
        };
        const state = after(sessionTable.initial, [
          create,
          ...dust.flatMap((facts) => [record(facts), confirm(facts)]),
        ]);
        expect(state.value).toBe('open');
        expect(held(state.context)).toBe(0n);
      }),
      { numRuns: runsOf(100) },
    );
  });
});
