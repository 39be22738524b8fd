import { OTHER_ACTIONS, TRANSACTION_ACTIONS } from '../domain/approval-actions.ts';
import { onOneLine } from '../domain/line-of-terms.ts';
import { parseAmount } from '../domain/money/money.ts';
import { must } from '../domain/values/must.ts';
import type { JsonValue } from '../ports/read-model/read-model.ts';
import { linesOf } from '../operator/books/entry-lines.ts';
import { CommandRefused, optionalText, type AdminArguments } from '../operator/server/commands.ts';
import type { Expected } from './approval-terms.ts';
import { isList } from './print.ts';

/* What a command must say before anything is signed, and what the terms must say then. */

type Expectation = (typed: AdminArguments) => readonly Expected[];

interface Question {
  readonly argument: string;
  readonly flag: string;
  /** Null: nothing is asked, and what is not named is not approved. */
  readonly question: string | null;
  /** Several answers, up to an empty one. */
  readonly isList?: true;
}

const AMOUNT: Question = {
  argument: 'amount',
  flag: '--amount',
  question: 'Amount and coin that you approve, such as 5000 USDT: ',
};
const TO: Question = { argument: 'to', flag: '--to', question: 'Address that it goes to, whole: ' };
const lines = (side: 'debit' | 'credit'): Question => ({
  argument: side,
  flag: `--${side}`,
  question: `Lines in ${side}, as account=amount, several separated by commas: `,
});

const QUESTIONS: Partial<Record<keyof typeof EXPECTATIONS, readonly Question[]>> = {
  'treasury.approve': [AMOUNT, TO],
  'treasury.take-over': [AMOUNT, TO],
  'treasury.acknowledge': [
    { ...AMOUNT, question: 'Amount and coin that left, as the chain shows it, such as "7 USDT" or none: ' },
    { ...TO, question: 'Address that it went to, as the chain shows it, or unknown: ' },
  ],
  'treasury.resume': [{ argument: 'beginAnew', flag: '--begin-anew', question: null, isList: true }],
  'treasury.limits': [
    {
      argument: 'change',
      flag: '--change',
      question: 'A change that you approve, as the terms word it (nothing: no more changes): ',
      isList: true,
    },
  ],
  'ledger.approve-adjustment': [
    lines('debit'),
    lines('credit'),
    { argument: 'coin', flag: '--coin', question: 'Coin of these lines: ' },
  ],
};

/**
 * What the command says, with what it leaves open asked of a person, who has not seen the terms yet: whoever copies
 * from them compares nothing. Throws `CommandRefused`.
 */
export async function completed(
  name: keyof typeof EXPECTATIONS,
  typed: AdminArguments,
  ask: (question: string) => Promise<string | null>,
): Promise<AdminArguments> {
  const answers: Record<string, JsonValue> = {};
  for (const { argument, flag, question, isList } of QUESTIONS[name] ?? []) {
    if (typed[argument] !== undefined) continue;
    if (question === null) {
      answers[argument] = [];
      continue;
    }
    const given = isList ? await untilEmpty(() => ask(question)) : [await ask(question)];
    if (given.includes(null))
      throw new CommandRefused(`nothing was signed: without a terminal, say what you approve with ${flag}`);
    const told = given.filter((text) => text !== null && text.trim() !== '');
    if (told.length === 0)
      throw new CommandRefused(`nothing was signed: ${flag} or an answer must say what you approve`);
    answers[argument] = isList ? told : must(told[0]);
  }
  return { ...typed, ...answers };
}

async function untilEmpty(ask: () => Promise<string | null>): Promise<(string | null)[]> {
  const answers: (string | null)[] = [];
  for (;;) {
    const answer = await ask();
    if (answer !== null && answer.trim() === '') return answers;
    answers.push(answer);
    if (answer === null) return answers;
  }
}

const once = (label: string, typed: string, fits: (value: string) => boolean): Expected => ({
  ...{ label, typed },
  fits: (values) => values.length === 1 && values.every(fits),
});
const exactly = (label: string, typed: string): Expected => once(label, typed, (value) => value === typed);
const actionOf = (...actions: readonly string[]): Expected =>
  once('action', actions.map((action) => `"${action.trim()}"`).join(' or '), (value) => actions.includes(value));

/** The same lines in any order, none twice. */
const all = (label: string, typed: readonly string[], one: (text: string) => string): Expected => ({
  label,
  typed: typed.length === 0 ? 'nothing' : typed.join(' and '),
  fits: (values) => {
    const [wanted, found] = [typed, values].map((texts) => texts.map(one).toSorted());
    return JSON.stringify(wanted) === JSON.stringify(found);
  },
});

/** Without it the terms are only shown: `completed` lets nothing be signed without. */
const unasked = (label: string): Expected => ({ label, typed: '', fits: () => true });
const given = (typed: AdminArguments, label: 'amount' | 'to', expected: (text: string) => Expected): Expected => {
  const text = optionalText(typed, label);
  return text === undefined ? unasked(label) : expected(text);
};
/** What the service is told: nothing that its terms are compared with alone. */
export const withoutCompared = (typed: AdminArguments): AdminArguments =>
  Object.fromEntries(Object.entries(typed).filter(([argument]) => !COMPARED.includes(argument)));
const COMPARED: readonly string[] = ['amount', 'to', 'change', 'beginAnew', 'debit', 'credit', 'coin'];

const textIn = (typed: AdminArguments, argument: string): string => optionalText(typed, argument) ?? '';
const listed = (
  typed: AdminArguments,
  label: string,
  argument: 'change' | 'beginAnew',
  one: (text: string) => string,
): Expected => {
  const texts = typed[argument];
  return texts !== undefined && isList(texts) ? all(label, texts.map(String), one) : unasked(label);
};

/** Hex is compared without the case that a checksum gives it. */
const isAddress = (text: string, value: string): boolean =>
  text.startsWith('0x') ? value.toLowerCase() === text.toLowerCase() : value === text;
const addressed = (text: string): Expected => once('to', text, (value) => isAddress(text, value));

/** With its coin: as many of another coin are another amount. */
const isWorth = (text: string, value: string): boolean => {
  const [wanted = '', wantedCoin] = text.trim().split(/ +/);
  const [amount = '', coin] = value.split(' ');
  const units = parseAmount(wanted);
  return units !== null && units === parseAmount(amount) && wantedCoin === coin;
};
const worth = (text: string): Expected => once('amount', text, (value) => isWorth(text, value));

const reasoned = (typed: AdminArguments): Expected => exactly('reason', onOneLine(textIn(typed, 'reason')));
/** Who proposes a command that two approvers run; the service takes `operator` if the command names nobody. */
const proposedBy = (typed: AdminArguments): Expected =>
  exactly('proposed by', optionalText(typed, 'operator') ?? 'operator');

/** The kind of an order by the first letters of its id; anything else is a refund. */
const ACTION_OF_ID: Readonly<Record<string, string>> = {
  wdr_: TRANSACTION_ACTIONS.withdrawal,
  stl_: TRANSACTION_ACTIONS.settlement,
  rtn_: TRANSACTION_ACTIONS.return,
  nrt_: TRANSACTION_ACTIONS.native_return,
};

export const EXPECTATIONS = {
  'treasury.approve': (typed) => {
    const id = textIn(typed, 'id');
    const action = ACTION_OF_ID[id.slice(0, 4)];
    return [
      actionOf(action ?? TRANSACTION_ACTIONS.refund),
      exactly(action === undefined ? 'refund' : 'order', id),
      ...money(typed),
    ];
  },
  'treasury.resume': (typed) => [
    once('action', `"${OTHER_ACTIONS.resume.trim()} ..."`, (value) => value.startsWith(OTHER_ACTIONS.resume)),
    exactly('mode', textIn(typed, 'mode')),
    // Which log the signer believes is as grave as where money goes: a network that nobody typed does not begin anew.
    listed(typed, 'begin anew', 'beginAnew', (text) => text.split(',')[0] ?? ''),
    proposedBy(typed),
  ],
  'treasury.limits': (typed) => [
    actionOf(OTHER_ACTIONS.limits),
    exactly('mode', textIn(typed, 'mode')),
    listed(typed, 'change', 'change', (text) => text),
    proposedBy(typed),
  ],
  'treasury.acknowledge': (typed) => [
    actionOf(OTHER_ACTIONS.acknowledge),
    once('outflow', outflowInWords(typed), (value) => isOutflow(typed, value)),
    reasoned(typed),
    proposedBy(typed),
  ],
  'treasury.take-over': (typed) => [
    actionOf(OTHER_ACTIONS.takeOver),
    exactly('transaction', textIn(typed, 'tx')),
    ...money(typed),
    reasoned(typed),
    proposedBy(typed),
  ],
  'merchant.settlement-address': (typed) => [
    actionOf(OTHER_ACTIONS.settlementAddress),
    addressed(textIn(typed, 'address')),
    exactly('network', textIn(typed, 'network')),
    exactly('merchant', textIn(typed, 'merchant_id')),
    proposedBy(typed),
  ],
  'ledger.approve-adjustment': (typed) => [
    actionOf(OTHER_ACTIONS.adjustment, OTHER_ACTIONS.reversal),
    exactly('order', textIn(typed, 'id')),
    entryLines(typed, 'debit'),
    entryLines(typed, 'credit'),
  ],
} as const satisfies Record<string, Expectation>;

const money = (typed: AdminArguments): readonly Expected[] => [
  given(typed, 'amount', worth),
  given(typed, 'to', addressed),
];

/** `<amount> <coin> from <address> to <address> (<outflow>)`, as the signer words it. */
const OUTFLOW = /^(.+) from \S+ to (.+) \((\S+)\)$/;
const outflowInWords = (typed: AdminArguments): string =>
  `${textIn(typed, 'outflow')}, ${textIn(typed, 'amount')} to ${textIn(typed, 'to')}`;

/** The key of an outflow begins with its transaction, where the chain shows one. */
function isOutflow(typed: AdminArguments, value: string): boolean {
  const [, left = '', destination = '', key = ''] = OUTFLOW.exec(value) ?? [];
  const [outflow, amount, to] = ['outflow', 'amount', 'to'].map((argument) => optionalText(typed, argument));
  return (
    (key === outflow || key.startsWith(`${outflow}:`)) &&
    (amount === undefined || (amount === 'none' ? left === 'no coin of ours' : isWorth(amount, left))) &&
    (to === undefined || (to === 'unknown' ? destination === 'several, or nobody known' : isAddress(to, destination)))
  );
}

function entryLines(typed: AdminArguments, side: 'debit' | 'credit'): Expected {
  const [text, coin] = [optionalText(typed, side), optionalText(typed, 'coin')];
  if (text === undefined || coin === undefined) return unasked(side);
  const typedLines = linesOf(text, side).map(({ account, amount }) => `${amount} ${coin.toUpperCase()} ${account}`);
  return all(side, typedLines, (text) => text);
}
