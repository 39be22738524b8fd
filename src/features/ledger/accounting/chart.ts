import { z } from 'zod';
import { isCurrency } from '../../../domain/money/currencies.ts';
import { merchantAccountOf } from '../../../domain/money/ledger.ts';
import { isCoin } from '../../../domain/money/money.ts';
import { must } from '../../../domain/values/must.ts';

/* Maps each account of the books to an account of the operator's own chart. */

const text = (max: number) => z.string().min(1).max(max);

const schema = z.strictObject({
  /** The currency of the operator's books. */
  currency: z.string().refine((code) => isCurrency(code) && !isCoin(code), 'must be an ISO 4217 code such as EUR'),
  /** By name; `*` matches any merchant id. A network and coin may follow, as in `assets:treasury/ethereum/ETH`. */
  accounts: z.record(z.string(), text(159)),
  /** Clearing account for entries with more than two lines; always zero after an entry. */
  clearing: text(159).optional(),
  datev: z
    .strictObject({
      consultant: z.int().min(1001).max(9_999_999),
      client: z.int().min(1).max(99_999),
      /** Day and month, such as `01-01`. */
      fiscal_year_start: z
        .string()
        .regex(/^(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/, 'must be a month and a day such as 01-01'),
      account_length: z.int().min(4).max(8),
    })
    .optional(),
  xero: z.strictObject({ tax_rate: text(50) }).optional(),
});

type ChartFile = z.output<typeof schema>;

/** The chart cannot produce a file, or not for that many days. The message names the field. */
export class ChartRefused extends Error {
  override readonly name = 'ChartRefused';
}

export class Chart {
  readonly file: ChartFile;

  constructor(file: ChartFile) {
    this.file = file;
  }

  /** The chart, or the reason why it is invalid. */
  static parse(json: unknown): Chart | string {
    const parsed = schema.safeParse(json);
    if (parsed.success) return new Chart(parsed.data);
    return parsed.error.issues.map(({ path, message }) => `chart.${path.join('.')}: ${message}`).join('; ');
  }

  /** The most specific match. Throws `ChartRefused` if there is none. */
  accountOf(account: string, network: string | null, coin: string | null): string {
    const part = merchantAccountOf(account)?.part;
    const names = part === undefined ? [account] : [account, `liabilities:merchants:*:${part}`];
    const wanted = [
      ...names.map((name) => `${name}/${network}/${coin}`),
      ...names.map((name) => `${name}/*/${coin}`),
      ...names,
    ];
    const found = wanted.find((name) => Object.hasOwn(this.file.accounts, name));
    if (found === undefined) throw new ChartRefused(`chart.accounts: ${names.at(-1)} is missing`);
    return must(this.file.accounts[found]);
  }
}
