import { parseAmount, signedAmountOf } from '../../src/domain/money/money.ts';

/*
 * What the makers of the programs say of their files, as rules of its own: developer.datev.de (Buchungsstapel), Xero
 * Central (import manual journals), QuickBooks help (import journal entries), and the schema camt.053.001.08 of ISO
 * 20022. Each answers what is wrong, and what it read.
 */

export interface ReadLine {
  readonly account: string;
  /** Above zero a debit. */
  readonly value: bigint;
  /** What must balance together. */
  readonly group: string;
}

export interface ReadFile {
  readonly faults: readonly string[];
  readonly lines: readonly ReadLine[];
}

const DATEV_HEADER: readonly RegExp[] = [
  ...[
    /^"EXTF"$/,
    /^700$/,
    /^21$/,
    /^"Buchungsstapel"$/,
    /^13$/,
    /^20\d{15}$/,
    /^$/,
    /^"\w{0,2}"$/,
    /^".{0,25}"$/,
    /^".{0,25}"$/,
  ],
  ...[
    /^(100[1-9]|10[1-9]\d|1[1-9]\d\d|[2-9]\d{3}|\d{5,7})$/,
    /^[1-9]\d{0,4}$/,
    /^20\d{6}$/,
    /^[4-8]$/,
    /^20\d{6}$/,
    /^20\d{6}$/,
    /^".{0,30}"$/,
  ],
  ...[
    /^"[A-Z]{0,2}"$/,
    /^[12]$/,
    /^(0|30|40|50|64)$/,
    /^[01]$/,
    /^"[A-Z]{3}"$/,
    /^$/,
    /^""$/,
    /^$/,
    /^$/,
    /^"(\d{2})?"$/,
    /^\d*$/,
    /^$/,
    /^""$/,
    /^".{0,16}"$/,
  ],
];
/** By number of the column, from 1; the others are empty. */
const DATEV_FIELDS: Readonly<Record<number, RegExp>> = {
  1: /^(?!0+,00$)\d{1,10},\d{2}$/,
  2: /^"[SH]"$/,
  3: /^"[A-Z]{3}"$/,
  7: /^\d{1,9}$/,
  8: /^\d{1,9}$/,
  10: /^(0[1-9]|[12]\d|3[01])(0[1-9]|1[0-2])$/,
  11: /^"[a-zA-Z0-9$%&*+\-/]{0,36}"$/,
  14: /^"[^"]{0,60}"$/,
  21: /^"[^"]{0,20}"$/,
  22: /^"[^"]{0,210}"$/,
  23: /^"[^"]{0,20}"$/,
  ...{ 24: /^"[^"]{0,210}"$/, 114: /^[01]$/ },
};
const DATEV_WIDTH = 125;

export function readDatev(bytes: Buffer): ReadFile {
  const faults: string[] = [];
  const text = new TextDecoder('windows-1252', { fatal: true }).decode(bytes);
  if (!text.endsWith('\r\n') || /[^\r]\n|\r[^\n]/.test(text)) faults.push('lines end with CRLF');
  const [head = '', titles = '', ...records] = text.slice(0, -2).split('\r\n');
  const header = head.split(';');
  if (header.length !== DATEV_HEADER.length) faults.push(`the header has ${header.length} fields`);
  header.forEach((field, index) => DATEV_HEADER[index]?.test(field) || faults.push(`header ${index + 1}: ${field}`));
  if (titles.split(';').length !== DATEV_WIDTH) faults.push(`${titles.split(';').length} columns`);
  if (!titles.includes('Geschäftspartnerbank')) faults.push('umlauts are not those of Windows-1252');
  const lines = records.flatMap((record, number): ReadLine[] => {
    const fields = record.split(';');
    if (fields.length !== DATEV_WIDTH) faults.push(`record ${number + 1} has ${fields.length} fields`);
    fields.forEach(
      (field, index) =>
        (DATEV_FIELDS[index + 1] ?? /^$/).test(field) ||
        faults.push(`record ${number + 1}, field ${index + 1}: ${field}`),
    );
    const units = parseAmount(fields[0]!.replace(',', '.')) ?? 0n;
    const value = fields[1] === '"S"' ? units : -units;
    const group = String(number);
    return [
      { account: fields[6]!, value, group },
      { account: fields[7]!, value: -value, group },
    ];
  });
  return { faults, lines };
}

const cellsOf = (line: string): string[] =>
  [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');

function readCsv(
  bytes: Buffer,
  columns: readonly string[],
  most: number,
  rules: readonly RegExp[],
  read: (cells: readonly string[]) => ReadLine,
): ReadFile {
  const faults: string[] = [];
  const [titles = '', ...rows] = bytes.toString('utf8').split('\r\n').slice(0, -1);
  if (titles !== columns.join(',')) faults.push(`columns are ${titles}`);
  if (rows.length > most) faults.push(`${rows.length} lines`);
  const lines = rows.map((row, number) => {
    const cells = cellsOf(row);
    cells.forEach(
      (cell, index) => rules[index]!.test(cell) || faults.push(`line ${number + 1}, ${columns[index]}: ${cell}`),
    );
    if (cells.length !== columns.length) faults.push(`line ${number + 1} has ${cells.length} cells`);
    return read(cells);
  });
  return { faults, lines };
}

const XERO = ['*Narration', '*Date', 'Description', '*AccountCode', '*TaxRate', '*Amount'];
const XERO_TRACKING = ['TrackingName1', 'TrackingOption1', 'TrackingName2', 'TrackingOption2'];

export const readXero = (bytes: Buffer): ReadFile =>
  readCsv(
    bytes,
    [...XERO, ...XERO_TRACKING],
    300,
    [
      /^.+$/,
      /^(0[1-9]|[12]\d|3[01])\/(0[1-9]|1[0-2])\/20\d\d$/,
      /^.*$/,
      /^.{1,10}$/,
      /^.+$/,
      /^-?\d+\.\d{2}$/,
      /^$/,
      /^$/,
      /^$/,
      /^$/,
    ],
    ([narration, date, , account, , amount]) => ({
      account: account!,
      value: signedAmountOf(amount!),
      group: `${narration} ${date}`,
    }),
  );

export const readQuickbooks = (bytes: Buffer): ReadFile =>
  readCsv(
    bytes,
    ['*JournalNo', '*JournalDate', '*AccountName', '*Debits', '*Credits', 'Description'],
    1_000,
    [
      /^.{1,21}$/,
      /^(0[1-9]|1[0-2])\/(0[1-9]|[12]\d|3[01])\/20\d\d$/,
      /^.+$/,
      /^(\d+\.\d{2})?$/,
      /^(\d+\.\d{2})?$/,
      /^.*$/,
    ],
    ([number, , account, debit, credit]) => {
      if ((debit === '') === (credit === '')) throw new Error('one of debit and credit is empty');
      return {
        account: account!,
        value: debit === '' ? -signedAmountOf(credit!) : signedAmountOf(debit!),
        group: number!,
      };
    },
  );

/** Children in their order, as the schema has them; `?` may be left out, `*` and `+` repeat; a pattern is for text. */
type Shape = RegExp | readonly (readonly [name: string, count: '1' | '?' | '*' | '+', shape: Shape])[];

const AMOUNT = /^(?=\d(?:\.?\d){0,17}$)\d+(\.\d{1,5})?$/;
const day: Shape = [['Dt', '1', /^\d{4}-\d{2}-\d{2}$/]];
const STAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;
const text = (max: number): RegExp => new RegExp(`^[^<>]{1,${max}}$`);
const SIDE = /^(CRDT|DBIT)$/;

const CAMT: Shape = [
  [
    'BkToCstmrStmt',
    '1',
    [
      [
        'GrpHdr',
        '1',
        [
          ['MsgId', '1', text(35)],
          ['CreDtTm', '1', STAMP],
        ],
      ],
      [
        'Stmt',
        '+',
        [
          ['Id', '1', text(35)],
          ['CreDtTm', '?', STAMP],
          [
            'FrToDt',
            '?',
            [
              ['FrDtTm', '1', STAMP],
              ['ToDtTm', '1', STAMP],
            ],
          ],
          [
            'Acct',
            '1',
            [
              [
                'Id',
                '1',
                [
                  [
                    'Othr',
                    '1',
                    [
                      ['Id', '1', text(34)],
                      ['SchmeNm', '?', [['Prtry', '1', text(35)]]],
                    ],
                  ],
                ],
              ],
              ['Ccy', '?', /^[A-Z]{3}$/],
              ['Nm', '?', text(70)],
            ],
          ],
          [
            'Bal',
            '+',
            [
              ['Tp', '1', [['CdOrPrtry', '1', [['Cd', '1', /^(OPBD|CLBD)$/]]]]],
              ['Amt', '1', AMOUNT],
              ['CdtDbtInd', '1', SIDE],
              ['Dt', '1', day],
            ],
          ],
          [
            'Ntry',
            '*',
            [
              ...([
                ['NtryRef', '?', text(35)],
                ['Amt', '1', AMOUNT],
                ['CdtDbtInd', '1', SIDE],
                ['Sts', '1', [['Cd', '1', /^BOOK$/]]],
              ] as const),
              ...([
                ['BookgDt', '?', day],
                ['ValDt', '?', day],
                ['AcctSvcrRef', '?', text(35)],
              ] as const),
              [
                'BkTxCd',
                '1',
                [
                  [
                    'Prtry',
                    '1',
                    [
                      ['Cd', '1', text(35)],
                      ['Issr', '?', text(35)],
                    ],
                  ],
                ],
              ],
              ['AddtlNtryInf', '?', text(500)],
            ],
          ],
          ['AddtlStmtInf', '?', text(500)],
        ],
      ],
    ],
  ],
];

interface Element {
  readonly name: string;
  readonly attributes: string;
  readonly children: Element[];
  text: string;
}

function parseXml(source: string): Element {
  const root: Element = { name: '', attributes: '', children: [], text: '' };
  const open = [root];
  for (const [, closing, name = '', attributes = '', between = ''] of source.matchAll(
    /<(\/?)([A-Za-z]+)([^>]*)>([^<]*)/g,
  )) {
    if (closing === '/') {
      if (open.pop()!.name !== name) throw new Error(`${name} closes nothing`);
      continue;
    }
    const element: Element = { name, attributes, children: [], text: between.trim() };
    open.at(-1)!.children.push(element);
    open.push(element);
  }
  if (open.length !== 1) throw new Error('an element is not closed');
  return root.children[0]!;
}

function faultsOf(element: Element, shape: Shape, path: string): string[] {
  if (shape instanceof RegExp)
    return element.children.length === 0 && shape.test(element.text) ? [] : [`${path}: ${element.text}`];
  const faults: string[] = [];
  let at = 0;
  for (const [name, count, inner] of shape) {
    let found = 0;
    while (element.children[at]?.name === name && (found === 0 || count === '*' || count === '+')) {
      faults.push(...faultsOf(element.children[at]!, inner, `${path}/${name}`));
      at += 1;
      found += 1;
    }
    if (found === 0 && (count === '1' || count === '+')) faults.push(`${path}/${name} is missing`);
  }
  if (at < element.children.length) faults.push(`${path}/${element.children[at]!.name} is not in its place`);
  return faults;
}

export interface ReadStatement {
  readonly faults: readonly string[];
  readonly opening: bigint;
  readonly closing: bigint;
  readonly entries: readonly bigint[];
  /** What the entries say of the coin, exactly; null for the rounding. */
  readonly exact: readonly (bigint | null)[];
}

export function readCamt053(bytes: Buffer): ReadStatement {
  const source = bytes.toString('utf8');
  const root = parseXml(source.replace(/^<\?xml version="1.0" encoding="UTF-8"\?>\n/, ''));
  const faults = faultsOf(root, CAMT, root.name);
  if (root.attributes.trim() !== 'xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"')
    faults.push('the namespace is another');
  const statement = root.children[0]!.children[1]!;
  const all = (name: string): Element[] => statement.children.filter((child) => child.name === name);
  const signed = ({ children }: Element): bigint => {
    const amount = children.find(({ name }) => name === 'Amt')!;
    if (!/^ Ccy="[A-Z]{3}"$/.test(amount.attributes)) faults.push(`Amt ${amount.attributes}`);
    const side = children.find(({ name }) => name === 'CdtDbtInd')!.text;
    return side === 'CRDT' ? signedAmountOf(amount.text) : -signedAmountOf(amount.text);
  };
  const [opening, closing] = all('Bal').map(signed);
  const exact = all('Ntry').map(({ children }) => {
    const said = /^(-?[\d.]+) /.exec(children.find(({ name }) => name === 'AddtlNtryInf')!.text)?.[1];
    return said === undefined ? null : signedAmountOf(said);
  });
  return { faults, opening: opening!, closing: closing!, entries: all('Ntry').map(signed), exact };
}
