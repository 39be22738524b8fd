import { dayBefore, dayOf } from '../../../domain/values/calendar.ts';
import { absolute, formatAmount, SCALE, signedAmountOf } from '../../../domain/money/money.ts';
import type { EntryRow } from '../../../../projections/ledger/rows.ts';
import type { JournalScope, LedgerJournal } from '../journal.ts';
import { must } from '../../../domain/values/must.ts';

/*
 * ISO 20022 camt.053.001.08 (BankToCustomerStatementV08) of one coin at one address. The format allows at most five
 * decimals and three-letter currencies, so each entry is truncated, its exact amount is shown beside it, and one
 * separate entry makes up for the difference.
 */

export interface Wallet {
  readonly network: string;
  readonly coin: string;
  readonly address: string;
  /** The code used as currency for the coin. */
  readonly currency: string;
}

const DECIMALS = 5;
const STEP = 10n ** BigInt(SCALE - DECIMALS);
const MAX_ID = 34;

interface Move {
  readonly entry: EntryRow;
  readonly line: number;
  readonly units: bigint;
}

/** The statement of the scope's days by its clock, in one document. Holds only entries of the address. */
export async function camt053(
  journal: LedgerJournal,
  scope: JournalScope & { readonly from: string; readonly to: string },
  through: number,
  wallet: Wallet,
  createdAtMs: number,
): Promise<{ readonly text: string; readonly entries: number }> {
  let opening = 0n;
  const moves: Move[] = [];
  for await (const chunk of journal.walk({ ...scope, from: null }))
    for (const { entry } of chunk) {
      if (entry.number > through) continue;
      for (const [index, { address, network, coin, amount }] of entry.lines.entries()) {
        if (address !== wallet.address || network !== wallet.network || coin !== wallet.coin) continue;
        const units = signedAmountOf(amount);
        if (entry.days[scope.clock] < scope.from) opening += units;
        else moves.push({ entry, line: index + 1, units });
      }
    }
  const closing = moves.reduce((sum, { units }) => sum + units, opening);
  const shown = moves.map(({ units }) => cut(units));
  const rest = cut(closing) - shown.reduce((sum, units) => sum + units, cut(opening));
  const entries = [
    ...moves.map((move) => entryOf(move, scope, wallet)),
    ...(rest === 0n ? [] : [roundingOf(rest, scope, wallet)]),
  ];
  return { text: document({ scope, wallet, createdAtMs, opening, closing, entries }), entries: entries.length };
}

/** Truncates towards zero to the format's precision. */
const cut = (units: bigint): bigint => (units / STEP) * STEP;

interface Parts {
  readonly scope: JournalScope & { readonly from: string; readonly to: string };
  readonly wallet: Wallet;
  readonly createdAtMs: number;
  readonly opening: bigint;
  readonly closing: bigint;
  readonly entries: readonly string[];
}

function document({ scope, wallet, createdAtMs, opening, closing, entries }: Parts): string {
  const created = new Date(createdAtMs).toISOString().slice(0, 19) + 'Z';
  const id = `${scope.from.replaceAll('-', '')}-${scope.to.replaceAll('-', '')}-${wallet.coin}`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08">',
    '<BkToCstmrStmt>',
    `<GrpHdr><MsgId>${id}</MsgId><CreDtTm>${created}</CreDtTm></GrpHdr>`,
    `<Stmt><Id>${id}</Id><CreDtTm>${created}</CreDtTm>`,
    `<FrToDt><FrDtTm>${scope.from}T00:00:00Z</FrDtTm><ToDtTm>${scope.to}T23:59:59Z</ToDtTm></FrToDt>`,
    `<Acct><Id><Othr><Id>${escaped(shortened(wallet.address))}</Id><SchmeNm><Prtry>${wallet.network}</Prtry></SchmeNm></Othr></Id>`,
    `<Ccy>${wallet.currency}</Ccy><Nm>${escaped(wallet.address)}</Nm></Acct>`,
    balance('OPBD', opening, dayBefore(scope.from), wallet),
    balance('CLBD', closing, scope.to, wallet),
    ...entries,
    `<AddtlStmtInf>${wallet.coin} on ${wallet.network}; before ${formatAmount(opening)}, after ${formatAmount(closing)}</AddtlStmtInf>`,
    '</Stmt>',
    '</BkToCstmrStmt>',
    '</Document>',
    '',
  ].join('\n');
}

const balance = (code: string, units: bigint, day: string, wallet: Wallet): string =>
  `<Bal><Tp><CdOrPrtry><Cd>${code}</Cd></CdOrPrtry></Tp>${amount(cut(units), wallet)}<Dt><Dt>${day}</Dt></Dt></Bal>`;

const amount = (units: bigint, { currency }: Wallet): string =>
  `<Amt Ccy="${currency}">${formatAmount(absolute(units))}</Amt><CdtDbtInd>${units < 0n ? 'DBIT' : 'CRDT'}</CdtDbtInd>`;

function entryOf({ entry, line, units }: Move, { clock }: JournalScope, wallet: Wallet): string {
  const day = entry.days[clock];
  const said = [
    `${formatAmount(units)} ${wallet.coin}`,
    entry.txHash && `transaction ${entry.txHash}`,
    entry.orderId && `order ${entry.orderId}`,
  ];
  return bankEntry(`${entry.mode}-${entry.number}-${line}`, amount(cut(units), wallet), {
    ...{ day, valueDay: entry.chainTimeSec === undefined ? day : dayOf(entry.chainTimeSec) },
    reference: entry.id.replaceAll('-', '').slice(0, 35),
    code: entry.kind,
    said: said.filter(Boolean).join('; '),
  });
}

const roundingOf = (units: bigint, { to }: { readonly to: string }, wallet: Wallet): string =>
  bankEntry('rounding', amount(units, wallet), {
    ...{ day: to, valueDay: to, reference: 'rounding', code: 'rounding' },
    said: `What the entries of this statement lack beyond ${DECIMALS} decimals, all together`,
  });

interface Said {
  readonly day: string;
  readonly valueDay: string;
  readonly reference: string;
  readonly code: string;
  readonly said: string;
}

const bankEntry = (id: string, money: string, { day, valueDay, reference, code, said }: Said): string =>
  [
    `<Ntry><NtryRef>${id}</NtryRef>${money}<Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>${day}</Dt></BookgDt><ValDt><Dt>${valueDay}</Dt></ValDt>`,
    `<AcctSvcrRef>${reference}</AcctSvcrRef><BkTxCd><Prtry><Cd>${code}</Cd><Issr>Quittance</Issr></Prtry></BkTxCd>`,
    `<AddtlNtryInf>${escaped(said.slice(0, 400))}</AddtlNtryInf></Ntry>`,
  ].join('');

/** An account id has at most 34 characters; the account name contains the whole address. */
const shortened = (address: string): string =>
  address.length <= MAX_ID ? address : `${address.slice(0, 16)}..${address.slice(-16)}`;

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
const escaped = (text: string): string => text.replaceAll(/[&<>]/g, (character) => must(ENTITIES[character]));
