import { z } from 'zod';
import { auditCheckpoint, hashes } from './audit.schema.ts';
import { enumeration, integer, network, text, unixSeconds } from './words.schema.ts';

const place = {
  account: text('Name of the account in the books, such as `liabilities:merchants:<your id>:payable`.'),
  network,
  coin: text('The coin, such as `USDT`.'),
};
const moved = {
  debits: text('Debits: decrease what you are owed.'),
  credits: text('Credits: increase what you are owed.'),
};

export const getMonthStatementQuery = z.strictObject({
  format: enumeration('Format of the answer.', {
    json: 'the statement as evidence that can be verified without the service',
    csv: 'its lines',
    html: 'a printable page',
  })
    .optional()
    .meta({ default: 'json' }),
});

export const monthStatement = z
  .object({
    type: text('Always `StatementIssued`.'),
    mode: text('`test` or `live`.'),
    period: text('The month, such as `2026-10` (UTC, by recording time).'),
    merchant_id: text('You.').nullable(),
    closing: text('Id of the event that sealed the month.'),
    through_event: text('Id of the last event in the month.'),
    accounts: z
      .array(
        z.object({
          ...place,
          opening: text('Before the month; a negative amount is owed to you.'),
          ...moved,
          closing: text('After it: opening + debits - credits.'),
        }),
      )
      .meta({ description: 'Your accounts, by network and coin.' }),
    kinds: z
      .array(
        z.object({
          kind: text('Kind, as in the entries.'),
          ...place,
          lines: integer('Number of lines.'),
          ...moved,
        }),
      )
      .meta({ description: 'The same by kind: adds up to the debits and credits of `accounts`.' }),
    lines: integer('Total number of lines of the month.'),
    lines_sha256: text('SHA-256 of all lines, in hex: see the documentation of the books.'),
    actor: text('Who closed the month.'),
    issued_at_sec: unixSeconds,
    event: text('Id of the event that holds the statement.'),
    recorded_at: unixSeconds,
    verifier_key: z
      .string()
      .nullable()
      .meta({ description: 'Public key of the signer. Verify with the copy that you keep.' }),
    checkpoint: auditCheckpoint,
    proof: z
      .object({
        leaf_index: integer('Position of the event in the log, from 0.'),
        text: text("The event's canonical text."),
        hash: text('Hex.'),
        inclusion_proof: hashes,
      })
      .meta({ description: 'Proves the event under the checkpoint.' }),
  })
  .meta({ id: 'MonthStatement' });

export type MonthStatementBody = z.output<typeof monthStatement>;
