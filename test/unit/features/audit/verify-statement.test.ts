import { describe, expect, it } from 'vitest';
import { canonicalText } from '../../../../src/domain/events/canonical-text.ts';
import type { PeriodClosed } from '../../../../src/domain/events/operations-events.ts';
import { ledgerPeriodsStream } from '../../../../src/domain/values/streams.ts';
import { verifyStatement } from '../../../../src/features/audit/verify-statement.ts';
import { statementCommands } from '../../../../src/operator/books/statement.ts';
import { parseVerifierKey } from '../../../../src/runtime/merkle/checkpoint-note.ts';
import { MerkleFrontier } from '../../../../src/runtime/merkle/frontier.ts';
import { inclusionProof, leafHash } from '../../../../src/runtime/merkle/tree.ts';
import { AuditKey } from '../../../../src/signer/audit/key.ts';
import { signedExport } from '../../../support/signed-export.ts';
import { paidOrder, recorded } from '../../../support/settlement-log.ts';

const balances = {
  'chain/assets:deposit-wallets/ethereum/USDT': '20',
  'chain/liabilities:merchants:mer_a:payable/ethereum/USDT': '-20',
  'recorded/assets:deposit-wallets/ethereum/USDT': '10.5',
  'recorded/liabilities:merchants:mer_a:payable/ethereum/USDT': '-10.5',
};
const logOf = (change: Partial<PeriodClosed['data']> = {}) => {
  const data = {
    mode: 'test',
    period: '2026-10',
    throughPosition: 'event-7',
    balances,
    actor: 'olga',
    ...change,
  } as const;
  return recorded([...paidOrder(0), [ledgerPeriodsStream('test'), { type: 'PeriodClosed', data }], ...paidOrder(1)]);
};

/** The statement as the command makes it, of a log that is signed. */
async function statementOf(events = logOf()) {
  const { checkpoint, verifierKey } = signedExport(events);
  const index = events.findIndex(({ type }) => type === 'PeriodClosed');
  const event = events[index]!;
  const leaves = events.map((each) => leafHash(Buffer.from(each.hash, 'hex')));
  const rootOf = (from: number, to: number): Buffer => {
    const tree = new MerkleFrontier();
    for (const leaf of leaves.slice(from, to)) tree.append(leaf);
    return tree.root();
  };
  const path = inclusionProof(index, events.length, rootOf).map((node) => node.toString('base64'));
  const proof = {
    type: event.type,
    revision: event.revision,
    leafIndex: index,
    text: canonicalText(event),
    hash: event.hash,
    inclusionProof: path,
  };
  const { 'ledger.statement': run } = statementCommands({
    records: {
      eventOf: async (_stream, id) => events.find((each) => each.id === id) ?? null,
      proofOfEvent: async () => ({
        checkpoint: { origin: 'o', size: events.length, rootHash: '', checkpoint, createdSec: 1 },
        proof,
      }),
      verifierKey: () => verifierKey,
    },
    closingOf: async (_mode, month) => (month === '2026-10' ? event.id : null),
  });
  return {
    run: run!,
    key: parseVerifierKey(verifierKey)!,
    statement: (await run!({ month: '2026-10', mode: 'test' })) as Record<string, unknown>,
  };
}
type Figures = { debit: string | null; credit: string | null; coin: string }[];
type Proof = { leaf_index: number; text: string; hash: string };

describe('a statement of a closed month', () => {
  it('names its event and the last one it covers, adds up, and is verified on its own', async () => {
    const { statement, key } = await statementOf();
    expect(statement).toMatchObject({
      period: '2026-10',
      actor: 'olga',
      through_event: 'event-7',
      figures: { length: 4 },
    });
    expect(statement['totals']).toEqual([
      { clock: 'chain', network: 'ethereum', coin: 'USDT', figures: 2, debits: '20.00', credits: '20.00' },
      { clock: 'recorded', network: 'ethereum', coin: 'USDT', figures: 2, debits: '10.50', credits: '10.50' },
    ]);
    expect(verifyStatement(statement, key)).toEqual({
      ok: true,
      fault: null,
      period: '2026-10',
      figures: 4,
      signed_events: 9,
    });
  });

  const figures = (statement: Record<string, unknown>) => statement['figures'] as Figures;
  const proof = (statement: Record<string, unknown>) => statement['proof'] as Proof;
  it.each<[string, (statement: Record<string, unknown>) => unknown, string]>([
    ['a digit of a figure', (it) => (figures(it)[0]!.debit = '21.00'), 'figure 1'],
    ['a figure that is missing', (it) => figures(it).pop(), 'figure 4'],
    ['a figure too many', (it) => figures(it).push({ ...figures(it)[0]! }), 'figure 5'],
    ['a control total', (it) => ((it['totals'] as { debits: string }[])[0]!.debits = '1.00'), 'control totals'],
    ['the month', (it) => (it['period'] = '2026-09'), 'period is not what its event says'],
    ['who closed it', (it) => (it['actor'] = 'mallory'), 'actor is not'],
    ['what it goes through', (it) => (it['through_event'] = 'event-8'), 'through_event is not'],
    ['the event', (it) => (proof(it).text = proof(it).text.replace('10.5', '11.5')), 'hash is not'],
    ['its place', (it) => (proof(it).leaf_index = 3), 'its event is not what the checkpoint'],
    ['the checkpoint', (it) => (it['checkpoint'] = { checkpoint: 'x' }), 'cannot be read'],
    ['its form', (it) => delete it['proof'], 'not a statement'],
  ])('is refused when somebody changed %s', async (_, change, why) => {
    const { statement, key } = await statementOf();
    change(statement);
    expect(verifyStatement(statement, key)).toMatchObject({ ok: false, fault: expect.stringContaining(why) as string });
  });

  it('is refused under another key, and when its month does not balance', async () => {
    const { statement } = await statementOf();
    expect(verifyStatement(statement, new AuditKey(Buffer.alloc(64, 8)).verifierKey)).toMatchObject({ ok: false });
    const uneven = await statementOf(
      logOf({ balances: { ...balances, 'chain/assets:deposit-wallets/ethereum/USDT': '21' } }),
    );
    expect(verifyStatement(uneven.statement, uneven.key)).toMatchObject({
      ok: false,
      fault: 'debits and credits of USDT on ethereum differ',
    });
  });

  it('is not made for an open or invalid month', async () => {
    const { run } = await statementOf();
    await expect(run({ month: '2026-11', mode: 'test' })).rejects.toThrow('month: 2026-11 is not closed');
    await expect(run({ month: 'October', mode: 'test' })).rejects.toThrow('month must be');
    await expect(run({ month: '2026-10' })).rejects.toThrow('mode is missing');
  });
});
