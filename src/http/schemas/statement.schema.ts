import { z } from 'zod';
import { auditCheckpoint, hashes } from './audit.schema.ts';
import { enumeration, integer, network, text, unixSeconds } from './words.schema.ts';

const place = {
  account: text('Name of the account in the books, such as `liabilities:merchants:<your id>:payable`.'),
  network,
  coin: text('The coin, such as `USDT`.'),
};
const moved = { debits: text('What made it less for you.'), credits: text('What made it more for you.') };

export const getMonthStatementQuery = z.strictObject({
  format: enumeration('How to answer.', {
    json: 'the statement as evidence that is verified without the service',
    csv: 'the lines that it is made of',
    html: 'a page to be printed',
  })
    .optional()
    .meta({ default: 'json' }),
});

export const monthStatement = z
  .object({
    type: text('Always `StatementIssued`.'),
    mode: text('`test` or `live`.'),
    period: text('The month, such as `2026-10` (UTC, by the time of recording).'),
    merchant_id: text('You.').nullable(),
    closing: text('Id of the event that sealed the month.'),
    through_event: text('Id of the last event in the month.'),
    accounts: z
      .array(
        z.object({
          ...place,
          opening: text('Before the month; below zero is owed to you.'),
          ...moved,
          closing: text('After it: opening + debits - credits.'),
        }),
      )
      .meta({ description: 'Your accounts, by network and coin.' }),
    kinds: z
      .array(
        z.object({
          kind: text('What happened, as in the entries.'),
          ...place,
          lines: integer('How many lines of it.'),
          ...moved,
        }),
      )
      .meta({ description: 'The same by what happened: adds up to the debits and credits of `accounts`.' }),
    lines: integer('Lines of the month, all together.'),
    lines_sha256: text('SHA-256 of all lines, in hex: see the documentation of the books.'),
    actor: text('Who closed the month.'),
    issued_at_sec: unixSeconds,
    event: text('Id of the event by which the statement is kept.'),
    recorded_at: unixSeconds,
    verifier_key: z
      .string()
      .nullable()
      .meta({ description: 'Public key of the signer. Verify with the one that you keep.' }),
    checkpoint: auditCheckpoint,
    proof: z
      .object({
        leaf_index: integer('Place of the event in the log, from 0.'),
        text: text("The event's canonical text."),
        hash: text('Hex.'),
        inclusion_proof: hashes,
      })
      .meta({ description: 'Proves the event under the checkpoint.' }),
  })
  .meta({ id: 'MonthStatement' });

export type MonthStatementBody = z.output<typeof monthStatement>;
