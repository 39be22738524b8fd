import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { payerOf, tokenDeltas, type SolanaTransaction } from '../../../../src/adapters/solana/token-balances.ts';
import type { Token } from '../../../../src/domain/networks/networks.ts';
import { REPOSITORY } from '../../../support/repository.ts';

const FIXTURES = join(REPOSITORY, 'test', 'fixtures', 'chains');
const readJson = (file: string): unknown => JSON.parse(readFileSync(join(FIXTURES, file), 'utf8'));

const USDT = 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB';
const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const tokens: Token[] = [
  { coin: 'USDT', address: USDT, decimals: 6 },
  { coin: 'USDC', address: USDC, decimals: 6 },
];
const OWNER = 'oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96';
const PAYER = 'FQT9SSwEZ6UUQxsmTzgt5JzjrS4M5zm13M1QiYF8TEo6';

interface Expected {
  readonly chain: string;
  readonly file: string;
  readonly hash: string;
  readonly success: boolean;
  readonly tokenDeltas: { accountIndex: number; token: string; owner: string; delta: string }[];
}

const expected = (readJson('expected.json') as Expected[]).filter(({ chain }) => chain === 'solana');
const synthetic = readJson('solana/synthetic.json') as Record<string, SolanaTransaction>;

/** A recorded file holds a transaction, an RPC answer or a block. */
function recorded(file: string): SolanaTransaction {
  const json = readJson(file) as { result?: SolanaTransaction; transactions?: SolanaTransaction[] } & SolanaTransaction;
  return json.result ?? json.transactions?.[0] ?? json;
}

const read = (transaction: SolanaTransaction) =>
  tokenDeltas(transaction, tokens).map(({ accountIndex, token, owner, units }) => ({
    accountIndex,
    token: token.coin,
    owner,
    delta: units.toString(),
  }));

describe('recorded Solana transactions', () => {
  it('all have an expectation', () => {
    const files = readdirSync(join(FIXTURES, 'solana')).filter((name) => !name.startsWith('synthetic'));
    expect(expected.map(({ file }) => file).sort()).toEqual(files.map((name) => `solana/${name}`).sort());
  });

  it.each(expected)('$file changes the balances as recorded', ({ file, tokenDeltas: deltas }) => {
    expect(read(recorded(file))).toEqual(deltas);
  });

  it('name the owner whose balance fell as payer, not who paid the fee', () => {
    const deltas = tokenDeltas(recorded('solana/usdc_feepayer_184930610.json'), tokens);
    expect(payerOf(deltas, USDC).fromAddress).toBe('8fusVwhgo4oS1fGpZKeRaXrJXQk9auKnAgcj9A97wR3t');
  });

  it('name the payer of an account that was created in the same transaction', () => {
    const deltas = tokenDeltas(recorded('solana/usdc_ata_create_339540943.json'), tokens);
    expect(payerOf(deltas, USDC)).toEqual({ fromAddress: PAYER });
    expect(deltas.find(({ units }) => units > 0n)).toMatchObject({
      account: 'FrbudWWrsiv5deKG483U91njmeFPV45s3DQUfjhDD2BZ',
      units: 1_000_000n,
    });
  });

  it('leave the payer open where several balances fell', () => {
    const deltas = tokenDeltas(recorded('solana/block_parent_154808472.json'), tokens);
    expect(payerOf(deltas, USDC)).toEqual({ fromAddress: null, unknownPayer: 'several_payers' });
    expect(payerOf(deltas, USDT).fromAddress).toBe('5C1k9yV7y4CjMnKv8eGYDgWND8P89Pdfj79Trk2qmfGo');
  });

  it('are nothing when they failed, whatever their balances say', () => {
    const transfer = recorded('solana/usdc_ata_create_339540943.json');
    expect(read({ ...transfer, meta: { ...transfer.meta!, err: { InstructionError: [1, { Custom: 1 }] } } })).toEqual(
      [],
    );
    expect(read({ ...transfer, meta: null })).toEqual([]);
  });
});

describe('synthetic Solana transactions', () => {
  const receivedIn = (name: string) => read(synthetic[name]!).filter(({ accountIndex }) => accountIndex === 1);
  const payerIn = (name: string, mint = USDC) => payerOf(tokenDeltas(synthetic[name]!, tokens), mint).fromAddress;
  const unknownIn = (name: string) => payerOf(tokenDeltas(synthetic[name]!, tokens), USDC).unknownPayer;

  it('say that they are synthetic', () => {
    for (const transaction of Object.values(synthetic))
      expect(transaction).toHaveProperty('_note', expect.stringMatching(/^SYNTHETIC: /));
  });

  it('of version 1 count like any other', () => {
    expect(receivedIn('v1_transfer')).toEqual([{ accountIndex: 1, token: 'USDC', owner: OWNER, delta: '2500000' }]);
    expect(payerIn('v1_transfer')).toBe(PAYER);
  });

  it('in a batch that shows no instructions count by their balances', () => {
    expect(receivedIn('p_token_batch')).toMatchObject([{ delta: '3000000' }]);
    expect(payerIn('p_token_batch')).toBe(PAYER);
  });

  it('of other programs and other mints never count', () => {
    expect(read(synthetic['token_2022']!)).toEqual([]);
    expect(read(synthetic['wrong_mint']!)).toEqual([]);
  });

  it('in USDT count as USDT', () => {
    expect(receivedIn('usdt_plain')).toEqual([{ accountIndex: 1, token: 'USDT', owner: OWNER, delta: '2500000' }]);
    expect(payerIn('usdt_plain', USDT)).toBe(PAYER);
  });

  it('with two payers, with none, or without named owners have no payer', () => {
    for (const [name, why] of [
      ['two_payers', 'several_payers'],
      ['self_transfer', 'nobody_paid'],
      ['no_owner_named', 'owner_not_named'],
    ] as const) {
      expect(payerIn(name)).toBeNull();
      expect(unknownIn(name)).toBe(why);
    }
  });

  it('that closed the account that paid have no payer, and the money counts', () => {
    expect(payerIn('closed_source')).toBeNull();
    expect(unknownIn('closed_source')).toBe('account_closed');
    expect(receivedIn('closed_source')).toMatchObject([{ delta: '5000000' }]);
  });

  it('that handed the account to somebody who signed nothing have no payer', () => {
    const paid = synthetic['usdt_plain']!;
    const handedOver: SolanaTransaction = {
      ...paid,
      meta: {
        ...paid.meta!,
        postTokenBalances: paid.meta!.postTokenBalances!.map((balance) =>
          balance.owner === PAYER ? { ...balance, owner: 'somebody else' } : balance,
        ),
      },
    };
    expect(payerOf(tokenDeltas(handedOver, tokens), USDT)).toEqual({
      fromAddress: null,
      unknownPayer: 'account_handed_over',
    });
  });

  it('without a list of balances are not read: a whole balance would look like money that came', () => {
    const paid = synthetic['usdt_plain']!;
    for (const missing of ['preTokenBalances', 'postTokenBalances'] as const)
      expect(() => tokenDeltas({ ...paid, meta: { ...paid.meta!, [missing]: null } }, tokens)).toThrow(
        'keeps no token balances',
      );
  });
});
