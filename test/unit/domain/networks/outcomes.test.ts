import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { OUTCOMES, type Outcome } from '../../../../src/domain/networks/outcomes.ts';

/** What real nodes answered of each kind of transaction. */
interface Answered {
  readonly kind: keyof typeof OUTCOMES;
  readonly node: string;
  readonly what: string;
  readonly outcome: Outcome;
  readonly answer: object;
}
const read = (path: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../../fixtures/${path}`, import.meta.url), 'utf8'));
const answers = read('outcomes/answers.json') as Answered[];
const outcomeOf = (kind: Answered['kind'], answer: object): Outcome => OUTCOMES[kind](answer);

describe('what a node answers of a transaction', () => {
  it.each(answers)('of $node says what $what has done: $outcome', ({ kind, outcome, answer }) => {
    expect(outcomeOf(kind, answer)).toBe(outcome);
  });

  it('is known for every kind that is signed', () => {
    expect(new Set(answers.map(({ kind }) => kind))).toEqual(new Set(Object.keys(OUTCOMES)));
  });

  it.each([
    ['evm', {}],
    ['evm', { status: null }],
    ['evm-native', { status: '0x2' }],
    ['evm-cancel', {}],
    ['tron', { receipt: {} }],
    ['tron', {}],
    ['tron', { result: 'FAILED', receipt: { result: 'SUCCESS' } }],
    ['tron-native', { result: 'FAILED', receipt: { result: 'SUCCESS' } }],
    ['solana', {}],
    ['solana-nonce-account', {}],
  ] as const)('of %s concludes nothing from %j', (kind, answer) => {
    expect(outcomeOf(kind, answer)).toBe('unclear');
  });

  it.each([
    ['tron', { receipt: { result: 'OUT_OF_TIME' } }],
    ['tron', { result: 'FAILED' }],
    ['tron-native', { result: 'FAILED' }],
    ['tron-native', { receipt: { result: 'OUT_OF_ENERGY' } }],
    ['evm-cancel', { status: '0x1' }],
    ['solana-nonce-account', { err: { InstructionError: [1, 'InvalidAccountData'] } }],
  ] as const)('of %s that %j moved nothing', (kind, answer) => {
    expect(outcomeOf(kind, answer)).toBe('nothing');
  });
});
