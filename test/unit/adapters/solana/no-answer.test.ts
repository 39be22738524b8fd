import { describe, expect, it } from 'vitest';
import { fateAt } from '../../../../src/adapters/solana/outgoing-fate.ts';
import { solanaInflows } from '../../../../src/adapters/solana/outflows.ts';
import { holdingsOf, tokenAccount } from '../../../../src/adapters/solana/payee-account.ts';
import { verifySolanaProvider } from '../../../../src/adapters/solana/provider-check.ts';
import { blockAtSlot, readBalances, readTransaction, rentOf } from '../../../../src/adapters/solana/rpc.ts';
import { tokenDeltas } from '../../../../src/adapters/solana/token-balances.ts';
import { base58, fromBase58 } from '../../../../src/chain-formats/base58.ts';
import type { NetworkSettings } from '../../../../src/domain/networks/networks.ts';
import { ProviderFault } from '../../../../src/ports/chain/rpc-pool.ts';
import { answeringProvider } from '../../../support/answering-provider.ts';
import { agaveAnswer } from '../../../support/recorded-solana.ts';
import { TOKEN_PROGRAM, tokenAccountData } from '../../../support/solana-node.ts';

/* An answer without the fields of one says nothing: not "empty", not "not frozen", not "failed", not "skipped". */

const key = (fill: number): string => base58(Buffer.alloc(32, fill));
const [OWNER, MINT, ACCOUNT, TX] = [key(1), key(2), key(3), key(4)];
const token = { coin: 'USDT', address: MINT, decimals: 6 } as const;
const settings: NetworkSettings = {
  ...{ network: 'solana', mode: 'test', chainId: 'genesis', tokens: [token] },
  ...{ simulated: false, mainNetwork: true, explorerTransactionUrl: null },
};
const node = (answers: Readonly<Record<string, unknown>>) => answeringProvider(answers, { family: 'solana' });
const without = (name: string, from: object): object =>
  Object.fromEntries(Object.entries(from).filter(([field]) => field !== name));

const { data } = tokenAccountData(fromBase58(MINT)!, fromBase58(OWNER)!, 5n, true);
const raw = { owner: TOKEN_PROGRAM, data: [data, 'base64'] };
const accounts = (...value: unknown[]) => ({ context: { slot: 9 }, value });
const { answer: parsed } = agaveAnswer('getAccountInfo-token-jsonParsed') as { answer: { result: { value: unknown } } };
const NO_ACCOUNTS: readonly (readonly [string, unknown])[] = [
  ['parsed data that was not asked for', parsed.result.value],
  ['no data', { ...raw, data: ['', 'base64'] }],
  ['half of its data', { ...raw, data: [data.slice(0, 40), 'base64'] }],
  ['no owner', without('owner', raw)],
];

describe('a token account', () => {
  it('is read with what it holds and whether it is frozen', async () => {
    const held = { units: 5n, isFrozen: true, owner: OWNER, mint: MINT };
    expect(await tokenAccount(node({ getMultipleAccounts: accounts(raw) }), ACCOUNT, OWNER, token)).toEqual(held);
    expect(await tokenAccount(node({ getMultipleAccounts: accounts(null) }), ACCOUNT, OWNER, token)).toBeNull();
    const one = { value: [{ pubkey: ACCOUNT, account: raw }] };
    expect(await holdingsOf(node({ getTokenAccountsByOwner: one }), OWNER)).toEqual([{ account: ACCOUNT, ...held }]);
  });

  it.each(NO_ACCOUNTS)('with %s is neither empty nor free', async (_, shown) => {
    const provider = node({
      getMultipleAccounts: accounts(shown, { owner: 'sysvar', data: [Buffer.alloc(40).toString('base64'), 'base64'] }),
      getTokenAccountsByOwner: { value: [{ pubkey: ACCOUNT, account: shown }] },
    });
    await expect(tokenAccount(provider, ACCOUNT, OWNER, token)).rejects.toThrow(ProviderFault);
    await expect(holdingsOf(provider, OWNER)).rejects.toThrow(ProviderFault);
    await expect(readBalances(provider, [{ account: ACCOUNT, owner: OWNER, token }])).rejects.toThrow(ProviderFault);
  });
});

const balance = (amount: string) => ({
  ...{ accountIndex: 1, mint: MINT, owner: OWNER, programId: TOKEN_PROGRAM, uiTokenAmount: { amount } },
});
const meta = {
  ...{ err: null, fee: 5_000, preBalances: [9, 1], postBalances: [8, 1] },
  ...{ preTokenBalances: [balance('1')], postTokenBalances: [balance('4')] },
};
const shown = (of: object) => ({
  slot: 7,
  meta: of,
  transaction: { message: { accountKeys: [OWNER, ACCOUNT], header: { numRequiredSignatures: 1 } } },
});

describe('a transaction', () => {
  it('moves what its balances say', async () => {
    const read = await readTransaction(node({ getTransaction: shown(meta) }), TX, 'finalized');
    expect(tokenDeltas(read!, [token])).toMatchObject([{ units: 3n, owner: OWNER }]);
  });

  it.each(['err', 'preBalances', 'postBalances', 'preTokenBalances', 'postTokenBalances'])(
    'without %s moves nothing and has not failed: nothing is known',
    async (field) => {
      const provider = node({ getTransaction: shown(without(field, meta)) });
      const read = readTransaction(provider, TX, 'finalized').then((one) => tokenDeltas(one!, [token]));
      await expect(read).rejects.toThrow(ProviderFault);
    },
  );

  it.each(['programId', 'uiTokenAmount', 'mint'])('with a balance without %s is none', async (field) => {
    const postTokenBalances = [without(field, balance('4'))];
    const provider = node({ getTransaction: shown({ ...meta, postTokenBalances }) });
    await expect(readTransaction(provider, TX, 'finalized')).rejects.toThrow(ProviderFault);
  });

  it('has not landed where its status leaves out whether it failed', async () => {
    const statuses = { context: { slot: 9 }, value: [{ slot: 7, confirmationStatus: 'finalized' }] };
    const validity = { kind: 'solana-nonce', nonceIndex: 0, nonce: key(5) } as const;
    const asked = { sent: [{ txHash: TX, signedBytes: '', validity }], treasury: OWNER, expected: { native: 1n } };
    await expect(
      fateAt(node({ getSlot: 8, getSignatureStatuses: statuses, getTransaction: shown(meta) }), asked),
    ).rejects.toThrow(ProviderFault);
  });

  it('that names fewer accounts than it has balances of brought nothing that is known', async () => {
    const provider = node({
      getSignaturesForAddress: (of: string) => (of === OWNER ? [{ signature: TX, slot: 7, err: null }] : []),
      getTransaction: shown({ ...meta, preBalances: [9, 1, 0], postBalances: [8, 1, 1] }),
    });
    const sought = { fromBlock: 0, toBlock: 9 };
    await expect(
      solanaInflows(provider, settings, OWNER, sought as never, (named) => Promise.resolve(named as never)),
    ).rejects.toThrow(ProviderFault);
  });
});

describe('a slot', () => {
  it('is not skipped where the answer is nothing', async () => {
    await expect(blockAtSlot(node({ getBlock: null }), 7, 'confirmed')).rejects.toThrow(/no block at slot 7 yet/);
  });
});

describe('a node of the right chain', () => {
  it.each([
    ['has no mint yet', null, 'behind'],
    ['answers it without data', { owner: TOKEN_PROGRAM, data: ['', 'base64'] }, 'inconsistent'],
  ])('serves no other one because it %s', async (_, mint, kind) => {
    const answers = { getGenesisHash: 'genesis', getSlot: 9, getMultipleAccounts: accounts(mint) };
    await expect(verifySolanaProvider(node(answers), settings)).rejects.toMatchObject({ kind });
  });
});

it.each([0, -1, 0.5, null, {}])('rent of %j lamports is no answer', async (rent) => {
  const provider = node({ getMinimumBalanceForRentExemption: rent });
  await expect(rentOf(provider, 0)).rejects.toThrow(ProviderFault);
});
