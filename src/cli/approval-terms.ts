import { hash } from 'node:crypto';
import { OTHER_ACTIONS, TRANSACTION_ACTIONS } from '../domain/approval-actions.ts';
import { onOneLine } from '../domain/line-of-terms.ts';
import { parseAmount } from '../domain/money/money.ts';
import type { JsonValue } from '../ports/read-model/read-model.ts';
import { CommandRefused, optionalText, type AdminArguments } from '../operator/server/commands.ts';
import { inert, isList } from './print.ts';
import { cellsIn } from './table.ts';

/*
 * Whoever answers an approver's command may be false. Nothing is signed unless it is an approval of exactly what was
 * typed.
 */

/** One text to sign, with its lines. */
export interface Terms {
  readonly text: string;
  readonly number: string;
  readonly lines: readonly (readonly [label: string, value: string])[];
}

/** Null in a list: nothing is left to sign there. */
export type AskedTerms = readonly (Terms | null)[];

/** What the typed command says of a line of the terms. */
export interface Expected {
  readonly label: string;
  /** In the words of a refusal. */
  readonly typed: string;
  readonly fits: (value: string) => boolean;
}

/** What the terms of a command must say, from its name and its arguments. */
export type Expectation = (typed: AdminArguments) => readonly Expected[];

const TITLE = 'Quittance approval';
/** Lines that differ each time that terms are asked for. */
const OF_THE_MOMENT: readonly string[] = ['valid until', 'number'];
const READABLE = /^[\p{L}\p{N}\p{P}\p{S}\p{M} ]+$/u;

/** Null when the answer asks for no signature. Throws `CommandRefused` for anything that is not an approval. */
export function termsIn(answer: JsonValue): AskedTerms | null {
  const asked = cellsIn(answer).to_sign;
  if (asked === undefined || !isList(asked)) return null;
  return asked.map((one) => {
    if (one === null) return null;
    const { text, number } = cellsIn(one);
    if (
      typeof text !== 'string' ||
      typeof number !== 'string' ||
      !text.startsWith(`${TITLE}\n`) ||
      !text.endsWith(`\nnumber: ${number}`)
    )
      throw new CommandRefused('what the service asks to sign is not an approval');
    const written = text.split('\n');
    if (written.some((line) => !READABLE.test(line)))
      throw new CommandRefused('what the service asks to sign contains characters that cannot be shown');
    return { text, number, lines: written.slice(1).map(labelled) };
  });
}

function labelled(line: string): readonly [string, string] {
  const end = line.indexOf(': ');
  if (end < 1) throw new CommandRefused('what the service asks to sign has a line without a label');
  return [line.slice(0, end), line.slice(end + 2)];
}

export const shownTerms = (terms: AskedTerms): string =>
  `${terms.flatMap((one) => (one ? [one.text.split('\n').map(inert).join('\n')] : [])).join('\n\n')}\n\nhash of these terms: ${hashOfTerms(terms)}`;

/** The same whenever the same terms are asked for. */
export const hashOfTerms = (terms: AskedTerms): string =>
  hash(
    'sha256',
    terms
      .flatMap((one) =>
        one ? one.lines.flatMap(([label, value]) => (OF_THE_MOMENT.includes(label) ? [] : [`${label}: ${value}`])) : [],
      )
      .join('\n'),
    'hex',
  );

/** Throws `CommandRefused` unless each of the terms says, once, what the command says. */
export function assertTyped(terms: AskedTerms, expected: readonly Expected[]): void {
  for (const one of terms.filter((each) => each !== null))
    for (const { label, typed, fits } of expected) {
      const found = one.lines.filter(([name]) => name === label).map(([, value]) => value);
      if (found.length === 1 && found.every(fits)) continue;
      const said = found.length === 0 ? 'have no such line' : `say ${found.map(inert).join(' and ')}`;
      throw new CommandRefused(
        `nothing was signed: the command says ${label} ${typed}, and the terms that the service answered ${said}`,
      );
    }
}

/* Expectations. */

const exactly = (label: string, typed: string): Expected => ({ label, typed, fits: (value) => value === typed });
const actionOf = (...actions: readonly string[]): Expected => ({
  label: 'action',
  typed: actions.map((action) => `"${action.trim()}"`).join(' or '),
  fits: (value) => actions.includes(value),
});

/** Optional in the command, compared if given. */
const given = (typed: AdminArguments, argument: string, expected: (text: string) => Expected): readonly Expected[] => {
  const text = optionalText(typed, argument);
  return text === undefined ? [] : [expected(text)];
};
const textIn = (typed: AdminArguments, argument: string): string => optionalText(typed, argument) ?? '';

/** Hex is compared without the case that a checksum gives it. */
const addressed = (text: string): Expected => ({
  label: 'to',
  typed: text,
  fits: (value) => (text.startsWith('0x') ? value.toLowerCase() === text.toLowerCase() : value === text),
});

const worth = (text: string): Expected => ({
  label: 'amount',
  typed: text,
  fits: (value) => {
    const [amount = '', coin] = value.split(' ');
    const [wanted = '', wantedCoin = coin] = text.trim().split(/ +/);
    const units = parseAmount(wanted);
    return units !== null && units === parseAmount(amount) && wantedCoin === coin;
  },
});

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
      ...given(typed, 'amount', worth),
      ...given(typed, 'to', addressed),
    ];
  },
  'treasury.resume': (typed) => [
    {
      label: 'action',
      typed: `"${OTHER_ACTIONS.resume.trim()} ..."`,
      fits: (value) => value.startsWith(OTHER_ACTIONS.resume),
    },
    exactly('mode', textIn(typed, 'mode')),
    proposedBy(typed),
  ],
  'treasury.limits': (typed) => [
    actionOf(OTHER_ACTIONS.limits),
    exactly('mode', textIn(typed, 'mode')),
    proposedBy(typed),
  ],
  'treasury.acknowledge': (typed) => {
    const outflow = textIn(typed, 'outflow');
    // A transaction may be named too, which the terms do not show.
    const isKey = outflow.includes(':');
    return [
      actionOf(OTHER_ACTIONS.acknowledge),
      ...(isKey
        ? [{ label: 'outflow', typed: outflow, fits: (value: string) => value.endsWith(` (${outflow})`) }]
        : []),
      reasoned(typed),
      proposedBy(typed),
    ];
  },
  'treasury.take-over': (typed) => [
    actionOf(OTHER_ACTIONS.takeOver),
    exactly('transaction', textIn(typed, 'tx')),
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
  ],
} as const satisfies Record<string, Expectation>;
