import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { MerchantId } from '../../../../src/domain/values/ids.ts';
import { verifyDocument, verifyMonthStatement } from '../../../../src/features/audit/verify-issued.ts';
import { evidenceCommands } from '../../../../src/operator/books/documents.ts';
import { statementCommands } from '../../../../src/operator/books/statement.ts';
import { parseVerifierKey } from '../../../../src/runtime/merkle/checkpoint-note.ts';
import { inOffice, type BooksOffice } from '../../../support/books-office.ts';
import { evidenceRecords } from '../../../support/evidence.ts';
import { REPOSITORY } from '../../../support/repository.ts';
import { CREATED_AT, MERCHANT_ID } from '../../../support/session-facts.ts';
import { paidOrder, settlementEvent, settlementTerms } from '../../../support/settlement-log.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

type Evidence = Record<string, unknown> & {
  totals: { sum: string }[];
  accounts: { closing: string }[];
  kinds: { debits: string; lines: number }[];
};
const folder = temporaryFolder('evidence');
const PROGRAM = join(REPOSITORY, 'docs/verify/verify.py');
const hasPython = spawnSync('python3', ['--version']).status === 0;
const MONTH = new Date(CREATED_AT * 1000).toISOString().slice(0, 7);

async function twoPaidOrders(office: BooksOffice): Promise<void> {
  for (const [stream, event] of [
    ...paidOrder(0),
    ...paidOrder(1),
    settlementEvent('SettlementCompleted', settlementTerms('mov_1', '12.5')),
  ])
    await office.take(stream, event, CREATED_AT * 1000);
  await office.caughtUp();
}

function commandsOf(office: BooksOffice) {
  const records = evidenceRecords(office.store.events);
  const key = parseVerifierKey(records.verifierKey()!)!;
  const commands = {
    ...evidenceCommands({ records, statements: office.statements, store: office.store, signNow: null }),
    ...statementCommands({
      records,
      closingOf: async (mode, month) => (await office.balances.period(mode, month))?.entry ?? null,
    }),
  };
  const run = async (name: string, args: Record<string, string>) => (await commands[name]!(args)) as Evidence;
  return { key, keyText: records.verifierKey()!, run };
}

/** The verdict of the verifier in another language. */
function anotherVerdict(key: string, files: Record<string, unknown>): { status: number | null; printed: string } {
  const args = Object.entries(files).flatMap(([option, content]) => {
    const path = join(folder, option.slice(2));
    writeFileSync(path, Buffer.isBuffer(content) || typeof content === 'string' ? content : JSON.stringify(content));
    return [option, path];
  });
  const { status, stdout, stderr } = spawnSync('python3', [PROGRAM, ...args, '--key', key], { encoding: 'utf8' });
  return { status, printed: stdout + stderr };
}

describe('a file of the books', () => {
  const DOCUMENTS = ['journal', 'balances', 'payments', 'settlement', 'settled-orders', 'lines'] as const;

  it.each(DOCUMENTS.flatMap((document) => [['csv', document] as const, ['jsonl', document] as const]))(
    'is verified as %s from the file and its evidence alone: %s',
    async (format, document) =>
      inOffice(async (office) => {
        await twoPaidOrders(office);
        const merchant = ['settlement', 'settled-orders', 'lines'].includes(document) ? { merchant: MERCHANT_ID } : {};
        const args = { document, format, mode: 'test', ...merchant, actor: 'olga', evidence: 'true' };
        const bytes = await office.exported(args);
        const { key, keyText, run } = commandsOf(office);
        const evidence = await run('ledger.evidence', { mode: 'test', sha256: hash('sha256', bytes, 'hex') });
        expect(evidence).toMatchObject({ document, format, actor: 'olga', through_entry: 7 });
        expect(evidence.totals.length).toBeGreaterThan(0);
        const report = verifyDocument(bytes, evidence, key);
        expect(report).toMatchObject({ ok: true, fault: null, document });
        expect(report.rows).toBeGreaterThan(0);
        // Another program is started where the form differs, not for each document.
        const others = hasPython && document === 'journal';
        if (others)
          expect(anotherVerdict(keyText, { '--file': bytes, '--evidence': evidence })).toMatchObject({ status: 0 });

        const changed = Buffer.from(bytes);
        changed[changed.length - 3]! ^= 1;
        const forged = { ...evidence, sha256: hash('sha256', changed, 'hex') };
        expect(verifyDocument(changed, evidence, key)).toMatchObject({
          ok: false,
          fault: expect.stringContaining('SHA-256') as string,
        });
        expect(verifyDocument(changed, forged, key)).toMatchObject({
          ok: false,
          fault: 'sha256 is not what its event says',
        });
        if (others) expect(anotherVerdict(keyText, { '--file': changed, '--evidence': evidence }).status).toBe(1);
        const total = {
          ...evidence,
          totals: evidence.totals.map((each, index) => (index === 0 ? { ...each, sum: '1.00' } : each)),
        };
        expect(verifyDocument(bytes, total, key)).toMatchObject({
          ok: false,
          fault: 'totals is not what its event says',
        });
        expect(verifyDocument(bytes, { ...evidence, extra: 1 }, key)).toMatchObject({
          ok: false,
          fault: 'extra is not what its event says',
        });
      }),
  );

  it('is in the log only if its evidence was requested, and only once it was read in full', async () =>
    inOffice(async (office) => {
      await twoPaidOrders(office);
      const before = office.store.events.length;
      const bytes = await office.exported({ mode: 'test' });
      expect(office.store.events.length).toBe(before);
      const { run } = commandsOf(office);
      await expect(run('ledger.evidence', { mode: 'test', sha256: hash('sha256', bytes, 'hex') })).rejects.toThrow(
        'sha256: no such file',
      );
      await expect(run('ledger.evidence', { mode: 'test', sha256: 'x' })).rejects.toThrow('sha256 must be');
    }));

  it('names the invalid argument', async () =>
    inOffice(async (office) => {
      await twoPaidOrders(office);
      await expect(office.exported({ mode: 'test', document: 'constructor' })).rejects.toThrow(
        'document must be one of journal',
      );
      await expect(office.exported({ mode: 'test', document: 'settlement' })).rejects.toThrow('merchant is missing');
      await expect(office.exported({ mode: 'test', evidence: 'yes' })).rejects.toThrow('evidence must be');
      await expect(office.exported({ mode: 'test', document: 'balances', from: '2027-01-01' })).rejects.toThrow(
        'from does not apply to balances',
      );
    }));
});

describe('the statement of a closed month', () => {
  async function closed(office: BooksOffice) {
    await twoPaidOrders(office);
    office.nowMs = (CREATED_AT + 40 * 86_400) * 1000;
    expect(await office.periods.close('test', MONTH, 'olga')).toMatchObject({ ok: true });
    await office.caughtUp();
    const made = await office.statements.issue('test', MONTH, 'olga');
    expect(made!.map(({ data }) => data.merchantId)).toEqual([null, MERCHANT_ID]);
    // Made once.
    expect(await office.statements.issue('test', MONTH, 'olga')).toEqual(made);
    return commandsOf(office);
  }

  it('is made for the operator and each merchant, adds up, and is verified from itself alone, its lines as well', async () =>
    inOffice(async (office) => {
      const { key, keyText, run } = await closed(office);
      const whole = await run('ledger.month-statement', { mode: 'test', month: MONTH });
      const own = await run('ledger.month-statement', { mode: 'test', month: MONTH, merchant: MERCHANT_ID });
      expect(own).toMatchObject({ period: MONTH, merchant_id: MERCHANT_ID, actor: 'olga' });
      expect(own.accounts).toContainEqual(
        expect.objectContaining({
          account: `liabilities:merchants:${MERCHANT_ID}:payable`,
          opening: '0.00',
          closing: '-7.50',
          credits: '20.00',
        }),
      );
      const days = { from: `${MONTH}-01`, to: `${MONTH}-31` };
      const journal = (await office.exported({ mode: 'test', ...days })).toString();
      const lines = (
        await office.exported({ mode: 'test', document: 'lines', merchant: MERCHANT_ID, ...days })
      ).toString();
      const ofMerchant = await office.statements.lines({ mode: 'test', period: MONTH, merchantId: MERCHANT_ID });
      let served = '';
      for await (const chunk of ofMerchant!) served += chunk;
      expect(served).toBe(lines);
      expect(
        await office.statements.lines({ mode: 'test', period: MONTH, merchantId: 'mer_other' as MerchantId }),
      ).toBeNull();
      for (const [statement, csv] of [
        [whole, journal],
        [own, lines],
      ] as const) {
        expect(verifyMonthStatement(statement, key, csv)).toMatchObject({ ok: true, fault: null, document: MONTH });
        if (hasPython)
          expect(anotherVerdict(keyText, { '--statement': statement, '--lines': csv })).toMatchObject({ status: 0 });
        const wrong = csv.replaceAll('10.000000', '10.000001');
        expect(verifyMonthStatement(statement, key, wrong)).toMatchObject({
          fault: expect.stringContaining('lines are not those') as string,
        });
        if (hasPython) expect(anotherVerdict(keyText, { '--statement': statement, '--lines': wrong }).status).toBe(1);
        const forged = { ...statement, accounts: statement.accounts.map((each) => ({ ...each, closing: '0.00' })) };
        expect(verifyMonthStatement(forged, key, null)).toMatchObject({ fault: 'accounts is not what its event says' });
      }
      expect(verifyMonthStatement({}, key, null)).toMatchObject({ ok: false });
    }));

  it('and the event that sealed the month are verified in another language, too', async () =>
    inOffice(async (office) => {
      const { keyText, run } = await closed(office);
      const sealed = (await run('ledger.statement', { mode: 'test', month: MONTH })) as unknown as {
        figures: { debit: string | null }[];
      };
      if (!hasPython) return;
      expect(anotherVerdict(keyText, { '--statement': sealed })).toMatchObject({ status: 0 });
      const figures = sealed.figures.map((figure, index) => (index === 0 ? { ...figure, debit: '999.00' } : figure));
      expect(anotherVerdict(keyText, { '--statement': { ...sealed, figures } }).status).toBe(1);
    }));

  it('does not exist for an open month', async () =>
    inOffice(async (office) => {
      await twoPaidOrders(office);
      expect(await office.statements.issue('test', MONTH, 'olga')).toBeNull();
      const { run } = commandsOf(office);
      await expect(run('ledger.month-statement', { mode: 'test', month: MONTH })).rejects.toThrow(
        'there is no statement',
      );
      await expect(run('ledger.month-statement', { mode: 'test', month: 'may' })).rejects.toThrow('month must be');
      await expect(run('ledger.statements', { mode: 'test', month: MONTH })).rejects.toThrow('is not closed');
    }));
});
