import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/domain/events/session-events.ts';
import type { RefundLeg } from '../../src/domain/events/refund-events.ts';
import type { RefundId } from '../../src/domain/values/ids.ts';
import { amountOf, formatAmount, fromTokenUnits, toTokenUnits } from '../../src/domain/money/money.ts';
import { sessionTable } from '../../src/features/shared/handlers/session-handler.ts';
import {
  decideSession,
  type RequestRefund,
  type SessionCommand,
  type SessionState,
} from '../../state-machines/checkout-session/session.decider.ts';
import {
  depositsOf,
  depositsOfOrder,
  refundable,
  type SessionContext,
} from '../../state-machines/checkout-session/session.state.ts';
import { leftOf, type DepositState } from '../../state-machines/checkout-session/deposits.ts';
import { createdFacts, depositFacts, EXPIRES_AT, refundCommand, TOKEN_DECIMALS } from '../support/session-facts.ts';
import { runsOf } from '../support/runs.ts';

const network = fc.constantFrom('ethereum' as const, 'bsc' as const, 'tron' as const);
/** Of a token's own units: whole coins, some units, both, or dust. */
const tokenUnits = (decimals: number): fc.Arbitrary<bigint> => {
  const coins = fc.integer({ min: 0, max: 12 }).map((whole) => BigInt(whole) * 10n ** BigInt(decimals));
  const units = fc.oneof(
    fc.constant(0n),
    fc.bigInt({ min: 1n, max: 3n }),
    fc.bigInt({ min: 1n, max: 10n ** BigInt(decimals) }),
  );
  return fc.tuple(coins, units).map(([whole, rest]) => (whole + rest === 0n ? 1n : whole + rest));
};

const pay = network.chain((on) =>
  fc
    .record({
      tx: fc.integer({ min: 0, max: 9 }),
      units: tokenUnits(TOKEN_DECIMALS[on]),
      payer: fc.constantFrom('0xCustomer', '0xFriend', '0xStranger', '0xContract', null),
      offset: fc.constantFrom(-90, -60, -30, -5, 5),
      coin: fc.constantFrom('USDT' as const, 'USDT' as const, 'USDT' as const, 'USDC' as const),
    })
    .map(({ tx, units, payer, offset, coin }): SessionCommand[] => {
      const amount = formatAmount(fromTokenUnits(units, TOKEN_DECIMALS[on]));
      const facts = depositFacts({
        network: on,
        txHash: `0x${tx}`,
        coin,
        amount,
        fromAddress: payer,
        blockTimeSec: EXPIRES_AT + offset,
      });
      const { depositKey, blockNumber, blockHash, blockTimeSec } = facts;
      const sender = { kind: payer === '0xContract' ? ('contract' as const) : ('wallet' as const), name: null };
      const data = {
        depositKey,
        rule: { kind: 'finalized' as const },
        blockNumber,
        blockHash,
        blockTimeSec,
        headNumber: 300,
        sender,
      };
      return [
        { type: 'RecordDeposit', facts },
        { type: 'ConfirmDeposit', data, nowSec: EXPIRES_AT - 1, valuation: null },
      ];
    }),
);
const reorganise = fc.tuple(network, fc.integer({ min: 0, max: 9 })).map(([on, tx]): SessionCommand[] => [
  {
    type: 'RevertDeposit',
    depositKey: `${on}:0x${tx}:0`,
    reason: 'reorg',
    headNumber: 300,
    revertedAtSec: 1_800_000_500,
  },
]);
const refund = fc
  .record({
    id: fc.integer({ min: 1, max: 6 }),
    coin: fc.constantFrom('USDT' as const, 'USDT' as const, 'USDC' as const),
    millionths: fc.option(fc.bigInt({ min: 1n, max: 30_000_000n })),
    // An amount that some token cannot carry.
    beyond: fc.constantFrom(0n, 0n, 0n, 1n, 5n * 10n ** 11n),
    named: fc.option(fc.tuple(network, fc.integer({ min: 0, max: 9 })), { freq: 5 }),
    acknowledgedSender: fc.boolean(),
  })
  .map(({ id, coin, millionths, beyond, named, acknowledgedSender }): SessionCommand[] => [
    refundCommand({
      ...{ refundId: `re_${id}` as RefundId, coin, acknowledgedSender },
      units: millionths === null ? null : millionths * 10n ** 12n + beyond,
      namedDeposit: named && `${named[0]}:0x${named[1]}:0`,
    }),
  ]);
const end = fc
  .tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 3 }))
  .map(([id, leg]): SessionCommand[] => [
    {
      type: 'FailPayout',
      refundId: `re_${id}`,
      legId: `re_${id}-${leg}`,
      reason: 'recipient_frozen',
      networkFee: null,
      ...{ nowSec: EXPIRES_AT, valuation: null },
    },
  ]);
const history = fc
  .array(fc.oneof({ arbitrary: pay, weight: 5 }, { arbitrary: refund, weight: 4 }, reorganise, end), {
    minLength: 5,
    maxLength: 40,
  })
  .map((steps): SessionCommand[] => [{ type: 'CreateSession', data: createdFacts() }, ...steps.flat()]);

type Asked = (command: RequestRefund, before: SessionContext, outcome: ReturnType<typeof decideSession>) => void;

function run(commands: readonly SessionCommand[], asked: Asked): void {
  let state: SessionState = sessionTable.initial;
  for (const command of commands) {
    const decision = decideSession(command, state);
    if (command.type === 'RequestRefund' && !state.context.refunds[command.refundId])
      asked(command, state.context, decision);
    if (decision.ok) state = sessionTable.replay(decision.events, state);
  }
}

const legsOf = (events: readonly SessionEvent[]): readonly RefundLeg[] =>
  events.flatMap((event) => (event.type === 'RefundRequested' ? event.data.legs : []));
const sumOf = (parts: readonly { readonly amount: string }[]): bigint =>
  parts.reduce((sum, { amount }) => sum + amountOf(amount), 0n);
/** One address on Ethereum and BSC is one payer. */
const personOf = ({ network: on, address }: { readonly network: string; readonly address: string }): string =>
  `${on === 'bsc' ? 'ethereum' : on} ${address}`;
const payerOf = ({ facts }: DepositState): string =>
  personOf({ network: facts.network, address: String(facts.fromAddress) });

describe('a refund that is accepted, over random deposits, strangers, dust, reorganisations and refunds', () => {
  it('can be drafted on every leg, from deposits that have the money, and is checked for those senders alone', () => {
    let several = 0;
    fc.assert(
      fc.property(history, (commands) => {
        run(commands, (command, before, outcome) => {
          if (!outcome.ok) return;
          const legs = legsOf(outcome.events);
          several += legs.length > 1 ? 1 : 0;
          const left = (key: string): bigint => leftOf(before.deposits.get(key)!);
          for (const leg of legs) {
            expect(toTokenUnits(amountOf(leg.amount), TOKEN_DECIMALS[leg.network])).toBeGreaterThan(0n);
            expect(sumOf(leg.takenFrom)).toBe(amountOf(leg.amount));
            for (const { depositKey, amount } of leg.takenFrom) {
              const { facts, kind, status, sender } = before.deposits.get(depositKey)!;
              expect([facts.network, facts.coin, facts.fromAddress, status]).toEqual([
                leg.network,
                command.coin,
                leg.toAddress,
                'final',
              ]);
              expect(amountOf(amount)).toBeLessThanOrEqual(left(depositKey));
              if (command.namedDeposit === null) expect(kind).not.toBe('dust');
              else expect(depositKey).toBe(command.namedDeposit);
              if (!command.acknowledgedSender) expect(sender!.kind).toBe('wallet');
            }
          }
          if (command.units !== null) expect(sumOf(legs)).toBe(command.units);
          const payers = new Set(legs.map((leg) => `${leg.network} ${leg.toAddress}`));
          expect(legs).toHaveLength(payers.size);
        });
      }),
      { numRuns: runsOf(500) },
    );
    expect(several).toBeGreaterThan(0);
  });

  it('gives no stranger anything while the payers of the order have enough left', () => {
    let strangers = 0;
    fc.assert(
      fc.property(history, (commands) => {
        run(commands, (command, before, outcome) => {
          if (!outcome.ok || command.namedDeposit !== null) return;
          const people = new Set(depositsOfOrder(before).map(payerOf));
          const isTheirs = ({ network: on, toAddress }: RefundLeg): boolean =>
            people.has(personOf({ network: on, address: toAddress }));
          const legs = legsOf(outcome.events);
          if (legs.every(isTheirs)) return;
          strangers += 1;
          const theirs = depositsOf(before).filter(
            (deposit) =>
              deposit.facts.coin === command.coin &&
              deposit.kind !== 'dust' &&
              deposit.facts.fromAddress !== null &&
              people.has(payerOf(deposit)),
          );
          const left = theirs.reduce((sum, deposit) => sum + leftOf(deposit), 0n);
          const given = sumOf(legs.filter(isTheirs));
          // What is left of theirs is less than a refund can be asked for, of each of them on each network.
          const payers = new Set(theirs.map(({ facts }) => `${facts.network} ${facts.fromAddress}`)).size;
          expect(left - given).toBeLessThan(BigInt(payers + theirs.length) * 10n ** 12n + 1n);
        });
      }),
      { numRuns: runsOf(500) },
    );
    expect(strangers).toBeGreaterThan(0);
  });

  it('is all that is promised, and what a refusal says can be refunded is', () => {
    let suggested = 0;
    fc.assert(
      fc.property(history, (commands) => {
        run(commands, (command, before, outcome) => {
          const all = refundable(before, command.coin);
          const whole = { ...command, units: null, namedDeposit: null, acknowledgedSender: true };
          const taking = decideSession(whole, { value: 'paid', context: before });
          expect(taking.ok ? sumOf(legsOf(taking.events)) : 0n).toBe(all);
          const amount = outcome.ok
            ? undefined
            : / ([\d.]+) USD[TC] can be refunded$/.exec(outcome.refusal.message)?.[1];
          if (amount === undefined || amountOf(amount) === 0n || amount === '0.00') return;
          suggested += 1;
          const again = decideSession(
            { ...command, units: amountOf(amount), acknowledgedSender: true },
            { value: 'paid', context: before },
          );
          expect(again.ok).toBe(true);
        });
      }),
      { numRuns: runsOf(500) },
    );
    expect(suggested).toBeGreaterThan(0);
  });
});
