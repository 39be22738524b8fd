import { shownDecimals } from '../../../domain/money/currencies.ts';
import { absolute, formatAmount } from '../../../domain/money/money.ts';
import type { ValuedEntry, ValuedLine } from '../valuation/valued-journal.ts';
import { ChartRefused, type Chart } from './chart.ts';
import { windows1252 } from './windows-1252.ts';
import { must } from '../../../domain/values/must.ts';

/*
 * DATEV format "Buchungsstapel" (EXTF, category 21, version 13), as described by developer.datev.de: Windows-1252,
 * CRLF, semicolons, quoted texts, decimal commas, positive amounts with two decimals. The side "S" or "H" is that of
 * the first account.
 */

/** DATEV's limit of postings per file. */
const DATEV_MOST_ROWS = 99_999;

const ADDITIONAL = Array.from({ length: 20 }, (_, index) => [
  `Zusatzinformation - Art ${index + 1}`,
  `Zusatzinformation- Inhalt ${index + 1}`,
]).flat();
const DOCUMENT_INFO = Array.from({ length: 8 }, (_, index) => [
  `Beleginfo - Art ${index + 1}`,
  `Beleginfo - Inhalt ${index + 1}`,
]).flat();

export const DATEV_COLUMNS: readonly string[] = [
  ...[
    'Umsatz (ohne Soll/Haben-Kz)',
    'Soll/Haben-Kennzeichen',
    'WKZ Umsatz',
    'Kurs',
    'Basis-Umsatz',
    'WKZ Basis-Umsatz',
    'Konto',
  ],
  ...[
    'Gegenkonto (ohne BU-Schlüssel)',
    'BU-Schlüssel',
    'Belegdatum',
    'Belegfeld 1',
    'Belegfeld 2',
    'Skonto',
    'Buchungstext',
    'Postensperre',
  ],
  ...['Diverse Adressnummer', 'Geschäftspartnerbank', 'Sachverhalt', 'Zinssperre', 'Beleglink', ...DOCUMENT_INFO],
  ...[
    'KOST1 - Kostenstelle',
    'KOST2 - Kostenstelle',
    'Kost-Menge',
    'EU-Land u. UStID (Bestimmung)',
    'EU-Steuersatz (Bestimmung)',
  ],
  ...[
    'Abw. Versteuerungsart',
    'Sachverhalt L+L',
    'Funktionsergänzung L+L',
    'BU 49 Hauptfunktionstyp',
    'BU 49 Hauptfunktionsnummer',
  ],
  ...[
    'BU 49 Funktionsergänzung',
    ...ADDITIONAL,
    'Stück',
    'Gewicht',
    'Zahlweise',
    'Forderungsart',
    'Veranlagungsjahr',
    'Zugeordnete Fälligkeit',
  ],
  ...[
    'Skontotyp',
    'Auftragsnummer',
    'Buchungstyp',
    'USt-Schlüssel (Anzahlungen)',
    'EU-Land (Anzahlungen)',
    'Sachverhalt L+L (Anzahlungen)',
  ],
  ...[
    'EU-Steuersatz (Anzahlungen)',
    'Erlöskonto (Anzahlungen)',
    'Herkunft-Kz',
    'Buchungs GUID',
    'KOST-Datum',
    'SEPA-Mandatsreferenz',
  ],
  ...[
    'Skontosperre',
    'Gesellschaftername',
    'Beteiligtennummer',
    'Identifikationsnummer',
    'Zeichnernummer',
    'Postensperre bis',
  ],
  ...[
    'Bezeichnung SoBil-Sachverhalt',
    'Kennzeichen SoBil-Buchung',
    'Festschreibung',
    'Leistungsdatum',
    'Datum Zuord. Steuerperiode',
    'Fälligkeit',
  ],
  ...[
    'Generalumkehr (GU)',
    'Steuersatz',
    'Land',
    'Abrechnungsreferenz',
    'BVV-Position',
    'EU-Land u. UStID (Ursprung)',
    'EU-Steuersatz (Ursprung)',
  ],
  'Abw. Skontokonto',
];

/** A posting: an amount from one account to another. */
interface Posting {
  readonly value: bigint;
  readonly account: string;
  readonly contra: string;
  readonly line: ValuedLine;
}

export interface DatevScope {
  readonly from: string;
  readonly to: string;
  readonly createdAtMs: number;
}

/** Why the file cannot be made for these days; null if it can. */
export function datevFault({ file }: Chart, { from, to }: Pick<DatevScope, 'from' | 'to'>): string | null {
  if (!file.datev) return 'chart.datev is missing: consultant, client, fiscal_year_start and account_length';
  if (file.clearing === undefined)
    return 'chart.clearing is missing: entries of more than two lines are posted through it';
  if (shownDecimals(file.currency) > 2) return `chart.currency: DATEV has two decimals, ${file.currency} has more`;
  const start = fiscalYearOf(from, file.datev.fiscal_year_start);
  if (fiscalYearOf(to, file.datev.fiscal_year_start) !== start)
    return 'to must be in the fiscal year of from: postings have only day and month';
  const longest = file.datev.account_length + 1;
  const wrong = [file.clearing, ...Object.values(file.accounts)].find(
    (number) => !/^\d{1,9}$/.test(number) || number.length > longest,
  );
  return wrong === undefined ? null : `chart.accounts: ${wrong} is not an account number of at most ${longest} digits`;
}

/** The bytes of the file. */
export async function* datevFile(
  entries: AsyncIterable<ValuedEntry>,
  chart: Chart,
  scope: DatevScope,
): AsyncGenerator<Uint8Array> {
  yield windows1252(`${header(chart, scope)}\r\n${DATEV_COLUMNS.join(';')}\r\n`);
  let rows = 0;
  for await (const entry of entries) {
    const text = postingsOf(entry, chart).map((posting) => `${record(entry, posting, chart)}\r\n`);
    rows += text.length;
    if (rows > DATEV_MOST_ROWS)
      throw new ChartRefused(`to: a file has at most ${DATEV_MOST_ROWS} postings; choose fewer days`);
    if (text.length > 0) yield windows1252(text.join(''));
  }
}

/**
 * Two lines become one posting. More than two, or two on one account, go through the clearing account. Amounts that
 * round to zero are left out.
 */
function postingsOf({ lines }: ValuedEntry, chart: Chart): Posting[] {
  const worth = lines.filter(({ value }) => value !== 0n);
  const numberOf = ({ account, network, coin }: ValuedLine): string => chart.accountOf(account, network, coin);
  const [one, other] = worth;
  if (worth.length === 2 && numberOf(must(one)) !== numberOf(must(other)))
    return [{ value: must(one).value, account: numberOf(must(one)), contra: numberOf(must(other)), line: must(one) }];
  return worth.map((line) => ({ value: line.value, account: numberOf(line), contra: must(chart.file.clearing), line }));
}

function header({ file }: Chart, { from, to, createdAtMs }: DatevScope): string {
  const { consultant, client, fiscal_year_start: start, account_length: length } = must(file.datev);
  const created = new Date(createdAtMs).toISOString().replaceAll(/\D/g, '').slice(0, 17);
  return [
    ...['"EXTF"', '700', '21', '"Buchungsstapel"', '13', created, '', '"RE"', '""', '""'],
    ...[consultant, client, digits(fiscalYearOf(from, start)), length, digits(from), digits(to)],
    ...[
      quoted(`Quittance ${from.slice(0, 7)}`),
      '""',
      '1',
      '0',
      '0',
      quoted(file.currency),
      '',
      '""',
      '',
      '',
      '""',
      '',
      '',
      '""',
      '""',
    ],
  ].join(';');
}

function record({ kind, day, entry }: ValuedEntry, { value, account, contra, line }: Posting, { file }: Chart): string {
  const cells: string[] = DATEV_COLUMNS.map(() => '');
  const set = (name: string, text: string): string => (cells[DATEV_COLUMNS.indexOf(name)] = text);
  set('Umsatz (ohne Soll/Haben-Kz)', formatAmount(absolute(value)).replace('.', ','));
  set('Soll/Haben-Kennzeichen', value > 0n ? '"S"' : '"H"');
  set('WKZ Umsatz', quoted(file.currency));
  set('Konto', account);
  set('Gegenkonto (ohne BU-Schlüssel)', contra);
  set('Belegdatum', `${day.slice(8)}${day.slice(5, 7)}`);
  set(
    'Belegfeld 1',
    quoted(receiptNumber(entry?.orderId ?? entry?.moveId ?? (entry === null ? '' : `E${entry.number}`))),
  );
  set(
    'Buchungstext',
    quoted(
      [kind, line.coin, line.network]
        .filter((part) => part !== null)
        .join(' ')
        .slice(0, 60),
    ),
  );
  set('Beleginfo - Art 1', '"Event"');
  set('Beleginfo - Inhalt 1', quoted(entry?.id ?? ''));
  set('Beleginfo - Art 2', '"Transaction"');
  set('Beleginfo - Inhalt 2', quoted(entry?.txHash ?? ''));
  set('Festschreibung', '0');
  return cells.join(';');
}

/** Letters, digits and a few signs, at most 36 characters. */
const receiptNumber = (text: string): string => text.replaceAll(/[^A-Za-z0-9$&%*+\-/]/g, '-').slice(0, 36);
const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
const digits = (day: string): string => day.replaceAll('-', '');

/** First day of the fiscal year that contains `day`. */
function fiscalYearOf(day: string, start: string): string {
  const year = Number(day.slice(0, 4));
  return `${day.slice(5) >= start ? year : year - 1}-${start}`;
}
