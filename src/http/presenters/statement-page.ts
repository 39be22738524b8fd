import { merchantAccountOf, owedToMerchant } from '../../domain/money/ledger.ts';
import { Html, html } from '../../runtime/http/html.ts';
import type { MonthStatementBody } from '../schemas/statement.schema.ts';
import { must } from '../../domain/values/must.ts';

const STYLE = new Html([
  `
  body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #111; background: #fff; }
  table { border-collapse: collapse; width: 100%; margin: 0.5rem 0 1.5rem; }
  th, td { border-bottom: 1px solid #ccc; padding: 0.25rem 0.5rem; text-align: left; vertical-align: top; }
  .number { text-align: right; font-variant-numeric: tabular-nums; }
  code { font-size: 0.85em; overflow-wrap: anywhere; }
  @page { margin: 15mm; }
`,
]);

type Cell = string | number | Html;
interface Column {
  readonly name: string;
  readonly isNumber?: true;
}
const NUMBER = { isNumber: true } as const;

/** A merchant's statement as a printable page. Amounts owed to the merchant are positive. */
export function statementPage(statement: MonthStatementBody): string {
  const { accounts, kinds, checkpoint } = statement;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>Statement of ${statement.period}</title>
        <style>
          ${STYLE}
        </style>
      </head>
      <body>
        <h1>Statement of ${statement.period}</h1>
        <p>
          ${statement.merchant_id}, ${statement.mode} mode. Days in UTC, by the time of recording. Made
          ${timeOf(statement.issued_at_sec)}.
        </p>
        <h2>What you are owed</h2>
        ${table(
          [
            { name: 'Account' },
            { name: 'Coin' },
            ...['Before', 'Less', 'More', 'After'].map((name) => ({ name, ...NUMBER })),
          ],
          accounts.map((row) => [
            partOf(row),
            coinOf(row),
            owedToMerchant(row.opening),
            row.debits,
            row.credits,
            owedToMerchant(row.closing),
          ]),
        )}
        <h2>What happened</h2>
        ${table(
          [
            { name: 'What' },
            { name: 'Account' },
            { name: 'Coin' },
            ...['Lines', 'Less', 'More'].map((name) => ({ name, ...NUMBER })),
          ],
          kinds.map((row) => [row.kind, partOf(row), coinOf(row), row.lines, row.debits, row.credits]),
        )}
        <h2>Evidence</h2>
        ${table(
          [{ name: 'Of' }, { name: 'Value' }],
          [
            ['Event of this statement', code(statement.event)],
            ['Event that sealed the month', code(statement.closing)],
            ['Last event in the month', code(statement.through_event)],
            ['Lines', statement.lines],
            ['SHA-256 of the lines', code(statement.lines_sha256)],
            ['Checkpoint', `${checkpoint.size} events`],
            ['Root', code(checkpoint.root_hash)],
            ['Public key', code(statement.verifier_key ?? '')],
          ],
        )}
        <p>The same as JSON is verified without the service: <code>quittance audit verify --statement</code>.</p>
      </body>
    </html>`.text;
}

const partOf = ({ account }: { readonly account: string }): string => merchantAccountOf(account)?.part ?? account;
const coinOf = ({ coin, network }: { readonly coin: string; readonly network: string }): string =>
  `${coin} on ${network}`;
const code = (text: string): Html => html`<code>${text}</code>`;
const timeOf = (sec: number): string => `${new Date(sec * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

const table = (columns: readonly Column[], rows: readonly (readonly Cell[])[]): Html =>
  html`<table>
    <thead>
      <tr>
        ${columns.map(({ name, isNumber }) => html`<th class="${isNumber ? 'number' : 'text'}" scope="col">${name}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        (row) =>
          html`<tr>
            ${row.map((cell, index) => html`<td class="${must(columns[index]).isNumber ? 'number' : 'text'}">${cell}</td>`)}
          </tr>`,
      )}
    </tbody>
  </table>`;
